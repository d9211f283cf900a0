#!/usr/bin/env bash
# Writes requirements.lock anew from the ranges in pyproject.toml.
#
#   scripts/tools/lock.sh
#
# A fresh environment gets the newest versions that the ranges allow, for the
# package and all its extras, and their names and versions become the lock.
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
for packages in project["optional-dependencies"].values():
    print(*packages, sep="\n")
END
"$environment" -m pip install --quiet --upgrade -r "$work/ranges.txt"
"$environment" -m pip check >&2

new="$root/requirements.lock.new"
{
  echo "# Exact versions for scripts/demo.sh and scripts/test.sh."
  echo "# Made by scripts/tools/lock.sh from pyproject.toml: change that, run this."
  "$environment" -m pip freeze --all --exclude pip | LC_ALL=C sort -f
} > "$new"
mv -- "$new" "$root/requirements.lock"
echo "lock.sh: $(grep -c '==' "$root/requirements.lock") packages" >&2
