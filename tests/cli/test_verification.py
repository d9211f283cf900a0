"""`export --verify-only` as a user meets it."""

import json
import shutil

import pytest

from keras_transformer.cli.main import main

WARMUP = "assets.extra/tf_serving_warmup_requests"


def test_every_check_of_the_latest_version_is_shown(export, capsys):
    assert main(["export", "--verify-only", str(export)]) == 0
    said = capsys.readouterr()
    assert f"checking {export / '1'}" in said.err
    rows = [line.split()[:2] for line in said.out.splitlines()]
    assert len(rows) == 18
    assert {outcome for _, outcome in rows} == {"passed"}
    assert ["c_api_equals_live_model", "passed"] in rows


def test_failed_check_is_shown_and_exits_with_2(export, tmp_path, capsys):
    broken = shutil.copytree(export / "1", tmp_path / "1")
    path = broken / WARMUP
    path.write_bytes(path.read_bytes()[:-1])
    assert main(["export", "--verify-only", str(broken), "--json"]) == 2
    said = capsys.readouterr()
    report = json.loads(said.out)
    failed = [c["name"] for c in report["checks"] if not c["passed"]]
    assert report["path"] == str(broken)
    assert not report["passed"]
    assert failed == ["warmup_replays", "c_api_warmup_replays"]
    last = said.err.splitlines()[-1]
    assert f"{broken}: check warmup_replays failed (and 1 more): " in last


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
