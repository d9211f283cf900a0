import sys

import pytest

from keras_transformer.errors import InputError
from keras_transformer.exporting.verification.checks import (
    CheckResult,
    check_in_fresh_process,
    require_passed,
)


def test_first_failed_check_is_named():
    checks = (
        CheckResult("graph_is_readable", True, "done"),
        CheckResult("session_loads", False, "no tables"),
    )
    with pytest.raises(InputError, match="session_loads failed: no tables"):
        require_passed(checks)


def test_process_that_dies_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(InputError, match="ended with 1: silent"):
        check_in_fresh_process(tmp_path)
