"""Checks of a SavedModel in a fresh process, without the exporting code.

    python -m keras_transformer.exporting.verification.saved_model_checks \\
        FOLDER REPORT

Reads the graph of a version folder, loads it by `tf.saved_model.load`, and
starts a process without Python's TensorFlow that loads and runs it as
TensorFlow Serving does: see `c_api_checks`. Not covered without the server's
binary: its HTTP parser, its batching session at run time, and its memory use.
"""

import os
import pathlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from keras_transformer.contract import layout
from keras_transformer.lazy import quick_imports

# TensorFlow imports these if they are installed, which is slow, and they are
# not used.
with quick_imports("jax", "keras", "matplotlib"):
    import tensorflow as tf

from keras_transformer.exporting.session import without_wildcards
from keras_transformer.exporting.verification.c_api import find_library
from keras_transformer.exporting.verification.checks import (
    C_API_CHECKS,
    CheckFailed,
    CheckResults,
    check_in_fresh_process,
    write_results,
)
from keras_transformer.exporting.verification.graph_checks import (
    graph_is_readable,
    nothing_must_be_compiled,
    operations_are_allowed,
    signatures_are_batches,
    variables_are_stored_once,
)
from keras_transformer.exporting.verification.replay_checks import (
    equals_live_model,
    replay,
)
from keras_transformer.system.files import read_json

_EARLIER = "not an export of this version of keras_transformer"


def verify(folder: str | os.PathLike) -> CheckResults:
    """Runs every check except those that depend on a failed one.

    Args:
        folder: the version folder.
    """
    with without_wildcards(folder) as path:
        return _verified(pathlib.Path(path))


def _verified(folder):
    results = CheckResults()
    meta_graph = results.run(graph_is_readable, folder)
    reference = results.run(reference_is_readable, folder)
    if meta_graph is None or reference is None:
        return results
    # Comes first, while TensorFlow's own operations are the only ones: TF Text
    # isn't loaded yet.
    results.run(operations_are_allowed, meta_graph)
    if not results[-1].passed:
        return results  # A refused graph isn't run.
    results.run(nothing_must_be_compiled, meta_graph)
    results.run(variables_are_stored_once, folder, meta_graph, reference)
    results.run(signatures_are_batches, meta_graph)
    if find_library() is None:
        replay(results, PythonModel, folder)
        return results
    with ThreadPoolExecutor(1) as thread:
        # Runs in parallel, as it takes longer than this process's check.
        by_c_api = thread.submit(check_in_fresh_process, folder, C_API_CHECKS)
        results.run(python_loads_the_same, folder, reference)
        results += by_c_api.result()
    return results


def reference_is_readable(folder: pathlib.Path) -> dict:
    """Reads the live model's outputs, which the exporting process wrote."""
    reference = read_json(folder / layout.REFERENCE, layout.LARGEST_REFERENCE)
    for key in ("texts", "inputs", "outputs", "variables", "tolerance"):
        if key not in reference:
            raise CheckFailed(f"{layout.REFERENCE} has no {key!r}: {_EARLIER}")
    for name in layout.SIGNATURES:
        if name not in reference["inputs"].keys() & reference["outputs"].keys():
            raise CheckFailed(
                f"{layout.REFERENCE} has no signature {name!r}: {_EARLIER}"
            )
    return reference


def python_loads_the_same(folder: pathlib.Path, reference: dict) -> str:
    """Compares `tf.saved_model.load` with the live model."""
    return equals_live_model(PythonModel(folder), reference, (layout.GREEDY,))


class PythonModel:
    """Runs the signatures of a version folder, loaded by `tf.saved_model.load`.

    Args:
        folder: the version folder.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        import tensorflow_text  # noqa: F401

        # The signatures alone don't keep the model alive.
        self._model = tf.saved_model.load(str(folder))

    def run(
        self, signature: str, inputs: Mapping[str, Sequence[bytes]]
    ) -> dict[str, np.ndarray]:
        """Returns the outputs of a signature by their names."""
        outputs = self._model.signatures[signature](
            **{name: tf.constant(v, tf.string) for name, v in inputs.items()}
        )
        return {name: tensor.numpy() for name, tensor in outputs.items()}


if __name__ == "__main__":
    write_results(verify)
