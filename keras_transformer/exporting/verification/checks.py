"""Checks of an export: their outcomes, and the processes that run them.

An export is checked by processes that know nothing of its making. A module
that checks is run by `python -m MODULE FOLDER REPORT` and writes its results
as JSON: `[{name, passed, detail}, ...]`.
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
    """An exported model isn't what the server needs; the message says why."""


@dataclasses.dataclass(frozen=True)
class CheckResult:
    """The outcome of one check.

    Attributes:
        name: of the check function.
        passed: bool.
        detail: one line: what was found.
    """

    name: str
    passed: bool
    detail: str


class CheckResults(list):
    """The `CheckResult`s of one export, in the order of the checks."""

    def run(
        self, check: Callable, *arguments: Any, detail: str = "done"
    ) -> Any:
        """Runs a check and adds its outcome.

        Args:
            check: a function; what it raises is why the check has failed.
            *arguments: of the function.
            detail: of the result where the function returns no text.

        Returns:
            what the function returned; None if it failed.
        """
        try:
            returned = check(*arguments)
        # Whatever a damaged or unfit model makes TensorFlow raise.
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
    """The first line of an error that says something."""
    # An error of TensorFlow's has the graph's nodes in its text.
    for line in str(getattr(error, "message", error)).splitlines():
        if line.strip() and not line.startswith("Graph execution error"):
            return line.strip()
    return type(error).__name__


def write_results(check: Callable[[str], CheckResults]) -> None:
    """Runs the check that this process was started for, and writes its results.

    The words of the command line are the version folder and the JSON file.

    Args:
        check: the function that checks a version folder.
    """
    folder, report = sys.argv[1:]
    write_json(report, [dataclasses.asdict(one) for one in check(folder)])


def check_in_fresh_process(
    folder: pathlib.Path, module: str = SAVED_MODEL_CHECKS
) -> tuple[CheckResult, ...]:
    """Checks a version folder in a process of its own.

    Args:
        folder: the version folder.
        module: that checks, by `write_results`.

    Returns:
        The result of every check, failed ones too. A process that ends
        without results is a failed one.
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
    """Refuses an export of which a check failed.

    Args:
        checks: what `check_in_fresh_process` returned.
        problem: how the error begins.

    Raises:
        InputError: names the first failed check and why.
    """
    failed = [check for check in checks if not check.passed]
    if failed:
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        raise InputError(
            f"{problem}: check {failed[0].name} failed{more}: "
            f"{failed[0].detail}"
        )


def _environment():
    """This process's, with the package found and the processor used."""
    return {
        **child_environment(),
        # The exporting process may hold all of the accelerator's memory.
        "CUDA_VISIBLE_DEVICES": "-1",
        "KERAS_BACKEND": "tensorflow",
    }
