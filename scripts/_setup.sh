# Set-up shared by the scripts of this folder; sourced by them, not run.
#
# Makes .venv in the checkout with the versions of requirements.lock and the
# package itself (editable), and leaves in $root the checkout and in
# $environment_python the Python to use. `.venv/.stamp` says what was
# installed, so that a second run has nothing to do; `.venv/.incomplete` says
# that a set-up was cut off, so that the next one starts again.
# shellcheck shell=bash

root="$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)"
environment="$root/.venv"
environment_python="$environment/bin/python"

# The user's own settings must not reach into the environment.
unset PYTHONHOME PYTHONPATH
export PIP_USER=0 PIP_DISABLE_PIP_VERSION_CHECK=1
# TensorFlow's start-up messages; errors of the library are still raised.
export TF_CPP_MIN_LOG_LEVEL="${TF_CPP_MIN_LOG_LEVEL:-3}"

say() { printf '%s\n' "$*" >&2; }

fail() {
  say "$(basename -- "$0"): $*"
  exit 2
}

is_supported() {
  "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' \
    > /dev/null 2>&1
}

# Prints the first Python of PATH that is supported and can make environments.
# Those inside .venv are passed over: it may be about to be made anew.
find_python() {
  local name candidate without_venv=""
  for name in python3 python3.13 python3.12 python3.11; do
    while IFS= read -r candidate; do
      case "$candidate" in "" | "$environment"/*) continue ;; esac
      is_supported "$candidate" || continue
      if "$candidate" -c 'import ensurepip, venv' > /dev/null 2>&1; then
        printf '%s\n' "$candidate"
        return
      fi
      without_venv="$candidate"
    done <<< "$(type -aP "$name" || true)"
  done
  if [ -n "$without_venv" ]; then
    name="$("$without_venv" -c \
      'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
    fail "$without_venv has no venv module; on Debian or Ubuntu:" \
      "apt-get install $name"
  fi
  name="no python3 is there"
  if command -v python3 > /dev/null; then
    name="python3 is $(python3 --version 2>&1 || true)"
  fi
  fail "needs Python 3.11, 3.12 or 3.13 on PATH; $name"
}

# Prints what an environment of this checkout has to contain: its place, its
# Python, and a digest of the files that say what is installed.
wanted_stamp() {
  "$environment_python" - "$root" << 'END'
import hashlib
import pathlib
import sys

root = pathlib.Path(sys.argv[1])
digest = hashlib.sha256()
for name in (
    "requirements.lock",
    "pyproject.toml",
    "keras_transformer/version.py",
):
    digest.update((root / name).read_bytes() + b"\0")
print(root)
print("Python %d.%d" % sys.version_info[:2])
print(digest.hexdigest())
END
}

# True if .venv must be made anew: missing, cut off, broken, or moved here.
is_unusable() {
  [ -e "$environment/.incomplete" ] && return 0
  is_supported "$environment_python" || return 0
  "$environment_python" -m pip --version > /dev/null 2>&1 || return 0
  [ -e "$environment/.stamp" ] || return 1
  [ "$(head -n 2 "$environment/.stamp")" != "$(wanted_stamp | head -n 2)" ]
}

make_environment() {
  local python
  python="$(find_python)" || exit 2
  say "[1/3] Making .venv with $("$python" --version) ($python)"
  rm -rf -- "$environment"
  mkdir -- "$environment"
  : > "$environment/.incomplete"
  "$python" -m venv "$environment" \
    || fail "$python could not make an environment in $environment"
}

install_packages() {
  local quiet="--quiet"
  [ -t 2 ] && quiet="--progress-bar=on"
  say "[2/3] Installing the locked packages (the first time, TensorFlow is a" \
    "download of hundreds of megabytes)"
  # A file that isn't what it was when the lock was made is refused. The lock is
  # complete, and pip must not resolve: for a dependency with an extra, such as
  # coverage[toml], it takes the newest release, which the lock may not have.
  "$environment_python" -m pip install "$quiet" --no-deps --require-hashes \
    -r "$root/requirements.lock" >&2 \
    || fail "the locked packages could not be installed (pip says why above)"
  say "[3/3] Installing keras-transformer from this checkout"
  # The lock holds setuptools, so the build needs no environment of its own.
  # As a path, not a finder: a folder of the package's name in the working
  # folder, such as this checkout, would be taken for it.
  "$environment_python" -m pip install "$quiet" --no-deps \
    --no-build-isolation --config-settings editable_mode=compat \
    -e "$root" >&2 \
    || fail "keras-transformer could not be installed (pip says why above)"
}

# True if .venv is what the checkout asks for.
is_current() {
  [ -x "$environment_python" ] && [ ! -e "$environment/.incomplete" ] \
    && [ "$(cat "$environment/.stamp" 2> /dev/null)" = "$(wanted_stamp)" ]
}

set_up() {
  is_current && return
  # One at a time: what another is installing looks like what was cut off.
  if command -v flock > /dev/null; then
    exec 9> "$root/.venv.lock"
    flock -n 9 || { say "Waiting for another set-up of .venv"; flock 9; }
  fi
  is_current || set_up_alone
  exec 9>&-
}

set_up_alone() {
  local started=$SECONDS
  if is_unusable; then
    make_environment
  else
    say "[1/3] Bringing the .venv that is here up to date"
    : > "$environment/.incomplete"
  fi
  install_packages
  wanted_stamp > "$environment/.stamp.new"
  mv -f -- "$environment/.stamp.new" "$environment/.stamp"
  rm -f -- "$environment/.incomplete"
  say "Set up in $((SECONDS - started)) s; the next run starts at once."
}
