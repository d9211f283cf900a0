"""Checks of an export in a process without Python's TensorFlow.

    python -m keras_transformer.exporting.verification.c_api_checks \\
        FOLDER REPORT

The model is loaded and run through the C API alone, with XLA disabled, so
nothing that `import tensorflow` registers, patches or restores can mask a
problem. Its answers to the reference's inputs and to the warm-up requests are
compared with those of the exported model. `saved_model_checks` starts this
module after its checks of the graph.
"""

import os
import pathlib
import sys

from keras_transformer.exporting.verification.c_api import CApiModel
from keras_transformer.exporting.verification.checks import (
    CheckFailed,
    CheckResults,
    write_results,
)
from keras_transformer.exporting.verification.replay_checks import replay

_FORBIDDEN = frozenset(("tensorflow", "keras", "tensorflow_text"))


def check_without_python(folder: str | os.PathLike) -> CheckResults:
    """Loads a version folder and replays its reference and warm-up requests.

    Args:
        folder: the version folder.

    Returns:
        Results of `replay` and `no_python_had_a_part`.
    """
    results = CheckResults()
    replay(results, CApiModel, pathlib.Path(folder))
    results.run(no_python_had_a_part)
    return results


def no_python_had_a_part() -> str:
    """Checks that neither TensorFlow, Keras nor TF Text was imported."""
    if loaded := _FORBIDDEN & sys.modules.keys():
        raise CheckFailed(f"{', '.join(sorted(loaded))} was imported")
    return "without Python's TensorFlow, XLA disabled"


if __name__ == "__main__":
    write_results(check_without_python)
