"""Checks an export in a process that has no Python TensorFlow at all.

    python -m keras_transformer.export.verification.c_api_proof FOLDER
        [--report FILE]

What `import tensorflow` registers, patches or restores can't help here: the
model is loaded and run by the C API alone, XLA disabled, and its answers to
the reference's inputs and to the warm-up requests are compared with those of
the model that was exported. `keras_transformer.export.verify` runs this as
the last of its checks.
"""

import argparse
import dataclasses
import json
import pathlib
import sys

from keras_transformer.contract import layout
from keras_transformer.export.verification.c_api import CApiModel, find_library
from keras_transformer.export.verification.replay_checks import (
    equals_live_model,
    warmup_replays,
)
from keras_transformer.export.verification.report import (
    CheckFailed,
    CheckResult,
)
from keras_transformer.files import read_json, write_json

_FORBIDDEN = frozenset(("tensorflow", "keras", "tensorflow_text"))


def prove(folder) -> list[CheckResult]:
    """Loads and replays a version folder.

    Args:
        folder: the version folder.

    Returns:
        Results of `c_api_loads`, `c_api_equals_live_model` and
        `c_api_warmup_replays`; the first alone if it failed, or where
        TensorFlow comes without its C++ library.
    """
    folder = pathlib.Path(folder)
    library = find_library()
    if library is None:
        detail = "not possible here: TensorFlow comes without its C++ library"
        return [CheckResult("c_api_loads", True, detail)]
    results = []

    def run(name, step):
        try:
            detail = step()
            if loaded := _FORBIDDEN & sys.modules.keys():
                raise CheckFailed(f"{', '.join(sorted(loaded))} was imported")
            results.append(CheckResult(name, True, detail))
        # Whatever a damaged or unfit model raises: the check has failed.
        except Exception as error:
            said = str(error).strip() or type(error).__name__
            results.append(CheckResult(name, False, said.splitlines()[0]))

    models = []

    def load():
        models.append(CApiModel(folder, library))
        return "without Python's TensorFlow"

    run("c_api_loads", load)
    if not models:
        return results
    reference = read_json(folder / layout.REFERENCE)
    for check in (equals_live_model, warmup_replays):
        run(
            f"c_api_{check.__name__}",
            lambda check=check: check(models[0], folder, reference),
        )
    return results


def main(arguments: list[str] | None = None) -> int:
    """Checks the folder that the command line names."""
    parser = argparse.ArgumentParser(
        prog="python -m keras_transformer.export.verification.c_api_proof",
        description="Check an exported model through TensorFlow's C API.",
    )
    parser.add_argument("folder", metavar="FOLDER")
    parser.add_argument(
        "--report", help="JSON file for the results; standard output if none"
    )
    options = parser.parse_args(arguments)
    results = prove(options.folder)
    content = {
        options.folder: [dataclasses.asdict(result) for result in results]
    }
    if options.report:
        write_json(options.report, content)
    else:
        sys.stdout.write(json.dumps(content, indent=2) + "\n")
    return 0 if all(result.passed for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
