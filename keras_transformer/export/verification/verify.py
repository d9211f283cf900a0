"""Checks exported models in a fresh process, without the code that made them.

    python -m keras_transformer.export.verify FOLDER ... [--report FILE]

Loads each version folder as TensorFlow Serving does, XLA disabled, with the
operations of TensorFlow and TF Text alone, and compares what it answers with
the reference that the exporting process left in `assets.extra/`; and has a
process without Python's TensorFlow do the same through the C API. The results
are one JSON object: `{folder: [{name, passed, detail}, ...]}`. The exit
status is 0 if all passed, else 1.

Not provable without the server's binary: its HTTP parser, its batching
session at run time, and its use of memory.
"""

import argparse
import dataclasses
import json
import pathlib
import sys

import tensorflow as tf

from keras_transformer.contract import layout
from keras_transformer.export.verification.proof import run_checks
from keras_transformer.export.verification.replay_checks import REPLAY_CHECKS
from keras_transformer.export.verification.report import (
    CheckFailed,
    CheckResult,
)
from keras_transformer.export.verification.session import (
    ServedModel,
    disable_xla,
)
from keras_transformer.export.verification.static_checks import (
    STATIC_CHECKS,
    graph_is_readable,
)
from keras_transformer.files import read_json, write_json

C_API_PROOF = "keras_transformer.export.verification.c_api_proof"
_EARLIER = "not an export of this version of keras_transformer"


def verify(folder) -> list[CheckResult]:
    """Runs every check; those that need what has failed are left out.

    Args:
        folder: the version folder.
    """
    folder = pathlib.Path(folder)
    results = []

    def run(check, *arguments):
        outcome = None
        try:
            outcome = check(*arguments)
            detail = outcome if isinstance(outcome, str) else "done"
            result = CheckResult(check.__name__, True, detail)
        # Whatever a damaged or unfit model makes TensorFlow raise: the check
        # has failed.
        except Exception as error:
            result = CheckResult(check.__name__, False, _one_line(error))
        results.append(result)
        return outcome

    meta_graph = run(graph_is_readable, folder)
    reference = run(reference_is_readable, folder)
    if meta_graph is None or reference is None:
        return results
    for check in STATIC_CHECKS:
        run(check, folder, meta_graph, reference)
    run(xla_is_disabled)
    served = run(session_loads, folder)
    if served is not None:
        for check in REPLAY_CHECKS:
            run(check, served, folder, reference)
    try:
        results += run_checks(C_API_PROOF, folder)
    except CheckFailed as error:
        results.append(CheckResult("c_api_loads", False, str(error)))
    return results


def reference_is_readable(folder) -> dict:
    """What the live model answered, as the exporting process wrote it."""
    reference = read_json(folder / layout.REFERENCE)
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
        return "not possible here; the checks of the graph stand alone"
    compiled = tf.function(lambda x: x + 1, jit_compile=True)
    try:
        compiled(tf.constant(1))
    except tf.errors.OpError:
        return "as in the stock server"
    raise CheckFailed("XLA still compiles after it was disabled")


def session_loads(folder) -> ServedModel:
    """The server's way to load: graph, restore operation, initializers."""
    # Only now: operations_are_allowed judges by what TensorFlow registers
    # by itself.
    import tensorflow_text  # noqa: F401

    return ServedModel(folder)


def _one_line(error):
    """The first line of an error that says something."""
    text = error.message if isinstance(error, tf.errors.OpError) else str(error)
    for line in text.splitlines():
        if line.strip() and not line.startswith("Graph execution error"):
            return line.strip()
    return type(error).__name__


def main(arguments: list[str] | None = None) -> int:
    """Checks the folders that the command line names."""
    parser = argparse.ArgumentParser(
        prog="python -m keras_transformer.export.verify",
        description="Check exported models as TensorFlow Serving loads them.",
    )
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument(
        "--report", help="JSON file for the results; standard output if none"
    )
    options = parser.parse_args(arguments)
    results = {folder: verify(folder) for folder in options.folders}
    content = {
        folder: [dataclasses.asdict(check) for check in checks]
        for folder, checks in results.items()
    }
    if options.report:
        write_json(options.report, content)
    else:
        sys.stdout.write(json.dumps(content, indent=2) + "\n")
    passed = all(
        check.passed for checks in results.values() for check in checks
    )
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
