#!/usr/bin/env bash
# Writes requirements.lock and requirements-spark.lock anew from the ranges in
# pyproject.toml.
#
#   scripts/tools/lock.sh [PYTHON3.11]
#
# A fresh environment gets the newest versions that the ranges allow, for the
# package and all its extras, and their names and versions become the lock, with
# the checksums of all files that a version has, for any system and Python.
# The second has what the extra [spark] adds: 750 MB that few need. Where the
# registry isn't PyPI, uv, which knows all checksums, is told by UV_DEFAULT_INDEX.
# Run it with Python 3.11, the oldest supported, and an early patch of it, such
# as Debian's 3.11.2: what exists for it exists for the newer ones too. pip
# itself is left out; setuptools stays in, because TensorFlow needs it and the
# project is built with it.

set -euo pipefail

root="$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd -P)"
work="$(mktemp -d)"
trap 'rm -rf -- "$work"' EXIT

python="${1:-python3.11}"
if ! "$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' \
  2> /dev/null; then
  echo "lock.sh: '$python' is no Python 3.11; usage: lock.sh [PYTHON3.11]" >&2
  exit 2
fi

"$python" -m venv "$work/venv"
environment="$work/venv/bin/python"
"$environment" - "$root/pyproject.toml" > "$work/ranges.txt" << 'END'
import sys
import tomllib

with open(sys.argv[1], "rb") as file:
    settings = tomllib.load(file)
project = settings["project"]
print(*settings["build-system"]["requires"], sep="\n")
print(*project["dependencies"], sep="\n")
for extra, packages in project["optional-dependencies"].items():
    if extra != "spark":
        print(*packages, sep="\n")
END
"$environment" -c 'import sys, tomllib
project = tomllib.load(sys.stdin.buffer)["project"]
print(*project["optional-dependencies"]["spark"], sep="\n")' \
  < "$root/pyproject.toml" > "$work/spark.txt"

# Prints the names and versions of what is installed.
installed() {
  "$environment" -m pip freeze --all --exclude pip | LC_ALL=C sort -f
}

# Installs the ranges of a file; later ones keep to what earlier ones chose.
add() {
  "$environment" -m pip install --quiet --upgrade -r "$1" "${@:2}"
  "$environment" -m pip check >&2
}

# Adds checksums to the names and versions that are read.
with_checksums() {
  "$environment" -m uv pip compile --quiet --no-config --no-deps \
    --generate-hashes --no-header --no-annotate --python-version 3.11 -
}

# Writes a lock of the packages that are read; the first argument says what for.
write() {
  {
    echo "# Exact versions for $1."
    echo "# Made by scripts/tools/lock.sh from pyproject.toml: change that, run" \
      "this."
    with_checksums
  } > "$root/$2.new"
  mv -- "$root/$2.new" "$root/$2"
  echo "lock.sh: $2: $(grep -c '==' "$root/$2") packages" >&2
}

add "$work/ranges.txt"
installed > "$work/locked.txt"
add "$work/spark.txt" --constraint "$work/locked.txt"
installed | grep -vxFf "$work/locked.txt" > "$work/locked-spark.txt"
"$environment" -m pip install --quiet uv
write "scripts/demo.sh and scripts/test.sh" requirements.lock \
  < "$work/locked.txt"
write "the extra [spark], beside requirements.lock" requirements-spark.lock \
  < "$work/locked-spark.txt"
