#!/usr/bin/env bash
# Sets up what is missing, then runs the demo: train, evaluate, export and
# translate on the built-in corpus. Needs only Python 3.11, 3.12 or 3.13.
#
#   scripts/demo.sh [OPTIONS OF keras-transformer demo]
#
# It runs in the checkout, whatever the current folder is.

set -euo pipefail
# shellcheck source=scripts/_setup.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/_setup.sh"

set_up
cd -- "$root"
exec "$environment_python" -m keras_transformer demo "$@"
