"""`export --verify-only` as a user meets it."""

import json
import shutil

import pytest

from keras_transformer.cli.main import main
from keras_transformer.exporting.verification import checks as checking
from keras_transformer.exporting.verification.checks import CheckResult

WARMUP = "assets.extra/tf_serving_warmup_requests"


@pytest.mark.slow
def test_every_check_is_shown_and_a_failed_one_exits_with_2(
    export, tmp_path, capsys
):
    """One run of all checks: they take a while."""
    broken = shutil.copytree(export / "1", tmp_path / "toy" / "1")
    path = broken / WARMUP
    path.write_bytes(path.read_bytes()[:-1])
    assert main(["export", "--verify-only", str(broken.parent)]) == 2
    said = capsys.readouterr()
    assert f"checking {broken}" in said.err
    rows = [line.split()[:2] for line in said.out.splitlines()]
    assert len(rows) == 17
    assert {name for name, outcome in rows if outcome == "FAILED"} == {
        "warmup_replays",
        "c_api_warmup_replays",
    }
    assert {outcome for _, outcome in rows} == {"passed", "FAILED"}
    assert ["c_api_equals_live_model", "passed"] in rows
    last = said.err.splitlines()[-1]
    assert f"{broken}: check warmup_replays failed (and 1 more): " in last


@pytest.mark.parametrize("passed", [True, False])
def test_json_and_exit_status(export, monkeypatch, capsys, passed):
    checks = (CheckResult("a", True, "1"), CheckResult("b", passed, "2"))
    monkeypatch.setattr(checking, "check_in_fresh_process", lambda *_: checks)
    status = main(["export", "--verify-only", str(export), "--json"])
    assert status == (0 if passed else 2)
    said = capsys.readouterr()
    report = json.loads(said.out)
    assert report["path"] == str(export / "1")
    assert report["passed"] == passed
    assert report["checks"] == [vars(check) for check in checks]
    assert ("check b failed: 2" in said.err) == (not passed)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ([], ["--run", "--out", "--verify-only"]),
        (["--run", "r"], ["--run FOLDER and --out FOLDER"]),
        (["--verify-only", "x", "--out", "y"], ["--out can't", "--json"]),
        (["--verify-only", "x", "--beam-size=2"], ["--beam-size can't"]),
        (["--verify-only", "no/such"], ["no/such doesn't exist"]),
    ],
)
def test_wrong_options_are_named(refuses, options, says):
    refuses("export", *options, says=says)
