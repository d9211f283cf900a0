"""Checks of exports in a fresh process, without the code that made them.

    python -m keras_transformer.exporting.verification.saved_model_checks \\
        FOLDER REPORT

Loads each version folder as TensorFlow Serving does, XLA disabled, with the
operations of TensorFlow and TF Text alone, and compares what it answers with
the reference that the exporting process left in `assets.extra/`; and has a
process without Python's TensorFlow do the same through the C API.
Not provable without the server's binary: its HTTP parser, its batching
session at run time, and its use of memory.
"""

import os
import pathlib
from concurrent.futures import ThreadPoolExecutor

from keras_transformer.contract import layout
from keras_transformer.lazy import quick_imports

# A quarter of the time of a check; what TensorFlow takes along is not used.
with quick_imports("jax", "keras", "matplotlib"):
    import tensorflow as tf

from keras_transformer.exporting.session import (
    SavedModelSession,
    without_wildcards,
)
from keras_transformer.exporting.verification.c_api import disable_xla
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
    empty_batch_is_answered,
    empty_text_is_answered,
    equals_live_model,
    invalid_utf8_is_answered,
    long_text_is_answered,
    warmup_replays,
)
from keras_transformer.system.files import read_json

_EARLIER = "not an export of this version of keras_transformer"


def verify(folder: str | os.PathLike) -> CheckResults:
    """Runs every check; those that need what has failed are left out.

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
    # Before session_loads: the graph's operations are judged by what
    # TensorFlow registers by itself.
    results.run(operations_are_allowed, meta_graph)
    if not results[-1].passed:
        return results  # It isn't run, nor does it get another look.
    results.run(nothing_must_be_compiled, meta_graph)
    results.run(variables_are_stored_once, folder, meta_graph, reference)
    results.run(signatures_are_batches, meta_graph)
    results.run(xla_is_disabled)
    with ThreadPoolExecutor(1) as thread:
        # Takes as long as the checks of this process.
        by_c_api = thread.submit(check_in_fresh_process, folder, C_API_CHECKS)
        model = results.run(session_loads, folder)
        if model is not None:
            results.run(equals_live_model, model, reference)
            results.run(empty_batch_is_answered, model)
            results.run(empty_text_is_answered, model)
            results.run(invalid_utf8_is_answered, model, reference)
            results.run(long_text_is_answered, model, reference)
            results.run(warmup_replays, model, reference, folder)
        results += by_c_api.result()
    return results


def reference_is_readable(folder: pathlib.Path) -> dict:
    """Answers of the live model, as the exporting process wrote them."""
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


def xla_is_disabled() -> str:
    """This process refuses to compile, as the stock server does."""
    if not disable_xla():
        return "not possible here; only the checks of the graph show it"
    compiled = tf.function(lambda x: x + 1, jit_compile=True, autograph=False)
    try:
        compiled(tf.constant(1))
    except tf.errors.OpError:
        return "as in the stock server"
    raise CheckFailed("XLA still compiles after it was disabled")


def session_loads(folder: pathlib.Path) -> SavedModelSession:
    """The server's way to load: graph, restore operation, initializers."""
    return SavedModelSession(folder, inter_op_threads=0)


if __name__ == "__main__":
    write_results(verify)
