#!/usr/bin/env bash
# Carries TensorFlow and what this package needs besides JAX to a machine
# without a network, in pieces of 45 MB, or as much as the variable PIECE says.
#
#   scripts/benchmarks/gpu/carry.sh pack FOLDER    # here: FOLDER/piece-aa, ...
#   scripts/benchmarks/gpu/carry.sh unpack FOLDER TARGET    # there
#
# The wheels are those of requirements.lock for Linux on x86-64, with the
# processor's build of TensorFlow, for the Python that the variable
# PYTHON_VERSION names, 3.12 if it is unset. `unpack` joins the pieces, checks
# them and installs into TARGET, which is then the first entry of PYTHONPATH.

set -euo pipefail

root="$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.." && pwd -P)"
# What TensorFlow, Keras and this package import beside JAX.
names=(
  absl-py astunparse click cloudpickle colorama defusedxml duckdb flatbuffers
  gast google-pasta grpcio h5py joblib keras lxml markdown-it-py mdurl ml-dtypes
  namex nltk numpy opencc-python-reimplemented opt-einsum optree packaging
  portalocker protobuf Pygments PyYAML regex requests certifi charset-normalizer
  idna urllib3 rich sacrebleu sentencepiece setuptools shtab six tabulate
  tensorflow tensorflow-text termcolor tqdm typing-extensions wrapt
)

pack() {
  local version="${PYTHON_VERSION:-3.12}" wheels="$1/wheels" name pinned
  local requirements=()
  mkdir -p -- "$wheels"
  for name in "${names[@]}"; do
    pinned="$(grep -i -m 1 -E "^$name==" "$root/requirements.lock" || true)"
    if [ -z "$pinned" ]; then
      printf 'carry.sh: %s is not in requirements.lock\n' "$name" >&2
      continue
    fi
    requirements+=("${pinned%% *}")
  done
  # The same code without that for GPUs, a third of the size.
  requirements=("${requirements[@]/#tensorflow==/tensorflow-cpu==}")
  python -m pip download --quiet --no-deps --only-binary=:all: \
    --python-version "$version" --dest "$wheels" \
    --platform manylinux_2_28_x86_64 --platform manylinux_2_27_x86_64 \
    --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
    --platform manylinux_2_5_x86_64 --platform manylinux1_x86_64 \
    "${requirements[@]}"
  tar -C "$wheels" -cf - . | split -b "${PIECE:-45M}" - "$1/piece-"
  rm -r -- "$wheels"
  (cd -- "$1" && sha256sum piece-* > pieces.sha256 && ls -l piece-*)
}

unpack() {
  local wheels
  wheels="$(mktemp -d)"
  (cd -- "$1" && sha256sum --check --quiet pieces.sha256)
  cat -- "$1"/piece-* | tar -C "$wheels" -xf -
  python -m pip install --quiet --no-index --no-deps --target "$2" \
    "$wheels"/*.whl
  rm -r -- "$wheels"
}

case "${1:-}:$#" in
  pack:2) pack "$2" ;;
  unpack:3) unpack "$2" "$3" ;;
  *)
    printf 'carry.sh: pack FOLDER, or unpack FOLDER TARGET\n' >&2
    exit 2
    ;;
esac
