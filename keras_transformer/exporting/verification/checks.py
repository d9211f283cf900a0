"""Checks of an export: their results, and the processes that run them.

Checks run in fresh processes, without any state of the exporting one. A module
with checks is run as `python -m MODULE FOLDER REPORT` and writes its results as
JSON: `[{name, passed, detail}, ...]`.
"""

import dataclasses
import json
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from keras_transformer.errors import InputError
from keras_transformer.system.files import write_json
from keras_transformer.system.interpreters import (
    child_environment,
    module_command,
)

SAVED_MODEL_CHECKS = f"{__package__}.saved_model_checks"
C_API_CHECKS = f"{__package__}.c_api_checks"
CTRANSLATE2_CHECKS = f"{__package__}.ctranslate2_checks"
REFUSED = "the export was refused, nothing was published"


class CheckFailed(Exception):
    """An exported model failed a check; the message says why."""


@dataclasses.dataclass(frozen=True)
class CheckResult:
    """The outcome of one check.

    Attributes:
        name: name of the check function.
        passed: bool.
        detail: one line about what was found.
    """

    name: str
    passed: bool
    detail: str


class CheckResults(list):
    """The `CheckResult`s of one export, in the order of the checks."""

    def run(
        self, check: Callable, *arguments: Any, detail: str = "done"
    ) -> Any:
        """Runs a check and appends its result.

        Args:
            check: a function that raises an exception if the check fails.
            *arguments: arguments of the function.
            detail: detail of the result if the function returns no text.

        Returns:
            the function's return value; None if the check failed.
        """
        try:
            returned = check(*arguments)
        # A damaged or unfit model makes TensorFlow raise all kinds of errors.
        except Exception as error:
            result = CheckResult(check.__name__, False, _one_line(error))
            returned = None
        else:
            if isinstance(returned, str):
                detail = returned
            result = CheckResult(check.__name__, True, detail)
        self.append(result)
        return returned


def _one_line(error):
    """Returns the first meaningful line of an error."""
    # The text of TensorFlow's errors includes nodes of the graph.
    for line in str(getattr(error, "message", error)).splitlines():
        if line.strip() and not line.startswith("Graph execution error"):
            return line.strip()
    return type(error).__name__


def write_results(check: Callable[[str], CheckResults]) -> None:
    """Runs the check that this process was started for, and writes its results.

    The command line's arguments are the version folder and the JSON file.

    Args:
        check: the function that checks a version folder.
    """
    folder, report = sys.argv[1:]
    write_json(report, [dataclasses.asdict(one) for one in check(folder)])


def check_in_fresh_process(
    folder: pathlib.Path, module: str = SAVED_MODEL_CHECKS
) -> tuple[CheckResult, ...]:
    """Checks a version folder in a fresh process.

    Args:
        folder: the version folder.
        module: the module to run, which calls `write_results`.

    Returns:
        The result of every check, failed ones too. A process that ends
        without results gives one failed check.
    """
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch) / "report.json"
        process = subprocess.run(
            [*module_command(module), str(folder), str(report)],
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if not report.is_file():
            said = process.stderr.strip().splitlines()
            detail = f"{process.returncode}: {said[-1] if said else 'silent'}"
            return (
                CheckResult("process_ends_well", False, f"ended with {detail}"),
            )
        results = json.loads(report.read_text(encoding="utf-8"))
    return tuple(CheckResult(**result) for result in results)


def require_passed(
    checks: tuple[CheckResult, ...], problem: str = REFUSED
) -> None:
    """Refuses an export if one of its checks failed.

    Args:
        checks: the results of `check_in_fresh_process`.
        problem: the beginning of the error message.

    Raises:
        InputError: names the first failed check and its detail.
    """
    failed = [check for check in checks if not check.passed]
    if failed:
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        raise InputError(
            f"{problem}: check {failed[0].name} failed{more}: "
            f"{failed[0].detail}"
        )


def _environment():
    """Returns an environment that finds the package and hides GPUs."""
    return {
        **child_environment(),
        # The exporting process may hold all of the accelerator's memory.
        "CUDA_VISIBLE_DEVICES": "-1",
        "KERAS_BACKEND": "tensorflow",
    }
