"""Checks of an export in a process that has no Python TensorFlow at all.

    python -m keras_transformer.exporting.verification.c_api_checks \\
        FOLDER REPORT

What `import tensorflow` registers, patches or restores can't help here: the
model is loaded and run by the C API alone, XLA disabled, and its answers to
the reference's inputs and to the warm-up requests are compared with those of
the model that was exported. `saved_model_checks` runs this after its own
checks.
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
    """Loads a version folder and replays what it was exported with.

    Args:
        folder: the version folder.

    Returns:
        Results of `replay`, and of `no_python_had_a_part`.
    """
    results = CheckResults()
    replay(results, CApiModel, pathlib.Path(folder))
    results.run(no_python_had_a_part)
    return results


def no_python_had_a_part() -> str:
    """Python's TensorFlow isn't loaded."""
    if loaded := _FORBIDDEN & sys.modules.keys():
        raise CheckFailed(f"{', '.join(sorted(loaded))} was imported")
    return "without Python's TensorFlow, XLA disabled"


if __name__ == "__main__":
    write_results(check_without_python)
