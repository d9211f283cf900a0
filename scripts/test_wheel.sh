#!/usr/bin/env bash
# Builds the wheel, installs it into environments that have nothing else, and goes
# the whole path with it: train, evaluate, export, translate.
#
#   scripts/test_wheel.sh [PYTHON ...]
#
# Without PYTHON, python3.11 and python3.13, of the PATH or of pyenv; one that isn't
# there is left out, and a line says so. Dependencies are those of requirements.lock,
# with checksums. Everything runs in a folder of its own, where the checkout can't be
# imported.

set -euo pipefail
# shellcheck source=scripts/_setup.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/_setup.sh"

# Prints the path of a supported Python of this name that can make environments.
# Those of pyenv are on the PATH as shims, which run only what was chosen.
usable() {
  local candidate
  while IFS= read -r candidate; do
    case "$candidate" in "" | "$environment"/*) continue ;; esac
    is_supported "$candidate" || continue
    "$candidate" -c 'import ensurepip, venv' > /dev/null 2>&1 || continue
    printf '%s\n' "$candidate"
    return
  done <<< "$(type -aP "$1" || true
    printf '%s\n' "${PYENV_ROOT:-${HOME:-}/.pyenv}"/versions/*/bin/"$1")"
}

# Goes the path with the wheel, in the current folder.
try() {
  local python="$1" version program
  version="$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"
  say "[$version] Installing the wheel into an empty environment"
  "$python" -m venv venv
  venv/bin/python -m pip install --quiet --no-deps --require-hashes \
    -r "$work/dist/requirements-$version.txt" >&2
  venv/bin/python -m pip install --quiet --no-deps "$wheel" >&2
  venv/bin/python -m pip check >&2
  venv/bin/python - "$PWD/venv" "$wheel" << 'END'
import pathlib
import sys
from importlib import metadata

import keras_transformer

where = pathlib.Path(keras_transformer.__file__)
assert where.is_relative_to(sys.argv[1]), where
version = keras_transformer.__version__
assert version == metadata.version("keras-transformer")
assert f"-{version}-" in pathlib.Path(sys.argv[2]).name, version
END
  say "[$version] The demo, small"
  program=venv/bin/keras-transformer
  "$program" --version
  "$program" demo --sentences 2000 --epochs 4 > demo.txt
  grep -q '^BLEU ' demo.txt
  say "[$version] Translating by the export and by the run"
  translated="$(echo "She has two cats." \
    | "$program" translate --saved-model saved_models/demo)"
  [ -n "$translated" ]
  [ "$translated" = "$("$program" translate --run runs/demo/run \
    "She has two cats.")" ]
  say "[$version] $translated"
}

set_up
work="$(mktemp -d)"
trap 'rm -rf -- "$work"' EXIT
wheel="$("$environment_python" "$root/scripts/tools/build_package.py" \
  "$work/dist")"
say "Built $(basename -- "$wheel")"
[ "$#" -gt 0 ] || set -- python3.11 python3.13
tried=0
for name in "$@"; do
  path="$(usable "$name")"
  if [ -z "$path" ]; then
    say "Left out: there is no $name that can make environments"
    continue
  fi
  mkdir -- "$work/try"
  (
    cd -- "$work/try"
    try "$path"
  )
  # Two of them are 3 GB.
  rm -rf -- "${work:?}/try"
  tried=$((tried + 1))
done
[ "$tried" -gt 0 ] || fail "none of $* is at hand"
say "Tried with $tried of $#."
