"""Has an export checked by a process that knows nothing of its making."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from keras_transformer.errors import InputError
from keras_transformer.export.verification.report import (
    CheckFailed,
    CheckResult,
)

REFUSED = "the export was refused, nothing was published"


def check_in_fresh_process(
    folder: pathlib.Path, problem: str = REFUSED
) -> tuple[CheckResult, ...]:
    """Runs `keras_transformer.export.verification.verify` on a version folder.

    Args:
        folder: the version folder.
        problem: how the error begins.

    Returns:
        The result of every check, failed ones too.

    Raises:
        InputError: the process ended without results.
    """
    try:
        return run_checks("keras_transformer.export.verify", folder)
    except CheckFailed as error:
        raise InputError(f"{problem}: {error}") from None


def run_checks(module: str, folder: pathlib.Path) -> tuple[CheckResult, ...]:
    """Runs a module that checks a version folder in a process of its own.

    Args:
        module: takes `FOLDER --report FILE`, and writes `{folder: [{name,
            passed, detail}, ...]}` there.
        folder: the version folder.

    Raises:
        CheckFailed: the process ended without results.
    """
    with tempfile.TemporaryDirectory() as scratch:
        report = pathlib.Path(scratch) / "report.json"
        process = subprocess.run(
            [
                *(sys.executable, "-m", module, str(folder)),
                *("--report", str(report)),
            ],
            env=_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if not report.is_file():
            said = process.stderr.strip().splitlines()
            raise CheckFailed(
                "the process that checks it ended with "
                f"{process.returncode}: {said[-1] if said else 'silent'}"
            )
        results = json.loads(report.read_text(encoding="utf-8"))[str(folder)]
    return tuple(CheckResult(**result) for result in results)


def require_passed(checks: tuple[CheckResult, ...], problem: str = REFUSED):
    """Refuses an export of which a check failed.

    Args:
        checks: what `check_in_fresh_process` found.
        problem: how the error begins.

    Raises:
        InputError: names the first failed check and what it found.
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
    root = pathlib.Path(__file__).resolve().parents[3]
    paths = [str(root), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        # The exporting process may hold all of the accelerator's memory.
        "CUDA_VISIBLE_DEVICES": "-1",
        "KERAS_BACKEND": "tensorflow",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
