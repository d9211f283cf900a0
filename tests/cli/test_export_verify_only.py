"""`export --verify-only` as a user meets it."""

import json

import pytest

from keras_transformer.exporting.verification import checks as checking
from keras_transformer.exporting.verification.checks import CheckResult
from tests.cli.conftest import call

WORDS = {True: "passed", False: "FAILED"}


@pytest.mark.parametrize("passed", [True, False])
def test_checks_are_shown_and_a_failed_one_exits_with_2(
    export, monkeypatch, capsys, passed
):
    checks = (CheckResult("a", True, "1"), CheckResult("b", passed, "2"))
    monkeypatch.setattr(checking, "check_in_fresh_process", lambda *_: checks)
    command, status = ["export", "--verify-only", export], 0 if passed else 2
    call(*command, status=status)
    said = capsys.readouterr()
    rows = [line.split() for line in said.out.splitlines()]
    assert rows == [["a", "passed", "1"], ["b", WORDS[passed], "2"]]
    assert f"checking {export / '1'}" in said.err
    assert ("check b failed: 2" in said.err) == (not passed)
    call(*command, "--json", status=status)
    report = json.loads(capsys.readouterr().out)
    assert report["path"] == str(export / "1")
    assert report["passed"] == passed
    assert report["checks"] == [vars(check) for check in checks]
