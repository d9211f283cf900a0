#!/usr/bin/env bash
# Proves exports of every kind with the versions of TensorFlow that servers have.
#
#   scripts/test_servers.sh [VERSION ...]
#
# Without VERSION, 2.19 and 2.20, each with its TF Text, beside that of .venv. Their
# environments, 2 GB each, are kept for the next time, in .venv-servers or the folder in
# TEST_SERVERS. Prints a table, of which docs/serving.md has the result; to be run before
# a release, and after a change to what is exported.

set -euo pipefail
# shellcheck source=scripts/_setup.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/_setup.sh"

set_up
[ "$#" -gt 0 ] || set -- 2.19 2.20
folder="${TEST_SERVERS:-$root/.venv-servers}"
for version in "$@"; do
  place="$folder/$version"
  [ -e "$place/.complete" ] && continue
  say "Installing TensorFlow $version"
  rm -rf -- "$place"
  "$environment_python" -m venv "$place"
  "$place/bin/python" -m pip install --quiet \
    "tensorflow==$version.*" "tensorflow-text==$version.*" >&2 \
    || fail "TensorFlow $version could not be installed (pip says why above)"
  : > "$place/.complete"
done
cd -- "$root"
"$environment_python" -m scripts.tools.server_versions "$folder" "$@"
