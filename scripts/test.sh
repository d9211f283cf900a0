#!/usr/bin/env bash
# Sets up what is missing, then runs the tests. Needs only Python 3.11, 3.12
# or 3.13.
#
#   scripts/test.sh [OPTIONS AND PATHS FOR pytest]
#
# It runs in the checkout, whatever the current folder is, in three processes: a
# file's tests stay together. `-n 0` runs them in one. Tests that take long are
# left out: `-m 'not slow'` adds those that take seconds, `-m slow` runs the
# others.

set -euo pipefail
# shellcheck source=scripts/_setup.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/_setup.sh"

set_up
# Threads of several processes would only get into each other's way.
export TF_NUM_INTRAOP_THREADS="${TF_NUM_INTRAOP_THREADS:-1}"
export TF_NUM_INTEROP_THREADS="${TF_NUM_INTEROP_THREADS:-1}"
cd -- "$root"
# tests/conftest.py says which files begin. Three, as tests of servers and of
# other programs wait: two cores are done a fifteenth sooner than with two.
exec "$environment_python" -m pytest -n 3 --dist loadfile \
  --no-loadscope-reorder "$@"
