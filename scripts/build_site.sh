#!/usr/bin/env bash
# Builds the documentation, English and Chinese, and checks its links.
#
#   scripts/build_site.sh [FOLDER]
#
# FOLDER (default: docs/_build/site) holds the pages: open its index.html.
# They need nothing from outside, and have each chapter of the tutorial as a
# notebook to download. Any warning ends the build. Pictures are drawn anew;
# those of a trained model from the demo's run in runs/demo, or, without one,
# from a small model that is trained meanwhile and knows little: run
# scripts/demo.sh first.

set -euo pipefail
# shellcheck source=scripts/_setup.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/_setup.sh"

out="$(realpath -m -- "${1:-$root/docs/_build/site}")"
set_up
cd -- "$root"
exec "$environment_python" scripts/tools/build_site.py "$out"
