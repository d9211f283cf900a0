"""Checks of an export in a process that has no Python TensorFlow at all.

    python -m keras_transformer.exporting.verification.c_api_checks \\
        FOLDER REPORT

What `import tensorflow` registers, patches or restores can't help here: the
model is loaded and run by the C API alone, XLA disabled, and its answers to
the reference's inputs and to the warm-up requests are compared with those of
the model that was exported. `saved_model_checks` runs this beside its own
checks.
"""

import os
import pathlib
import sys

from keras_transformer.contract import layout
from keras_transformer.exporting.verification.c_api import (
    CApiModel,
    find_library,
)
from keras_transformer.exporting.verification.checks import (
    CheckFailed,
    CheckResult,
    CheckResults,
    write_results,
)
from keras_transformer.exporting.verification.replay_checks import (
    equals_live_model,
    warmup_replays,
)
from keras_transformer.system.files import read_json

_FORBIDDEN = frozenset(("tensorflow", "keras", "tensorflow_text"))


def check_without_python(folder: str | os.PathLike) -> CheckResults:
    """Loads a version folder and replays what it was exported with.

    Args:
        folder: the version folder.

    Returns:
        Results of `c_api_loads`, `c_api_equals_live_model` and
        `c_api_warmup_replays`; the first alone if it failed, or where
        TensorFlow comes without its C++ library.
    """
    folder = pathlib.Path(folder)
    results = CheckResults()
    library = find_library()
    if library is None:
        detail = "not possible here: TensorFlow comes without its C++ library"
        results.append(CheckResult("c_api_loads", True, detail))
        return results
    model = results.run(
        _without_tensorflow(CApiModel, "loads"),
        folder,
        library,
        detail="without Python's TensorFlow",
    )
    if model is not None:
        reference = read_json(
            folder / layout.REFERENCE, layout.LARGEST_REFERENCE
        )
        check = _without_tensorflow(equals_live_model, "equals_live_model")
        results.run(check, model, reference)
        check = _without_tensorflow(warmup_replays, "warmup_replays")
        results.run(check, model, reference, folder)
    return results


def _without_tensorflow(check, name):
    """A check that fails if Python's TensorFlow had a part in it."""

    def checked(*arguments):
        returned = check(*arguments)
        if loaded := _FORBIDDEN & sys.modules.keys():
            raise CheckFailed(f"{', '.join(sorted(loaded))} was imported")
        return returned

    checked.__name__ = f"c_api_{name}"
    return checked


if __name__ == "__main__":
    write_results(check_without_python)
