"""The table of exports and versions of TensorFlow, without either."""

import json
import pathlib
import subprocess
import sys
import types

import pytest

from scripts.tools import server_versions

GOOD = [{"name": "session_loads", "passed": True, "detail": "done"}] * 3
BAD = [
    *GOOD,
    {"name": "c_api_loads", "passed": False, "detail": "no op Gather9"},
    {"name": "later", "passed": False, "detail": "as well"},
]
OPERATIONS = {"words": ["Add", "Gather9"], "ensemble": ["Add"]}


def environment(version, lacks, **results):
    return {
        "versions": [version, "2.19.0"],
        "lacks": lacks,
        "cells": {k: server_versions.outcome(v) for k, v in results.items()},
    }


def test_the_table_names_what_fails_and_what_is_lacking():
    older = environment("2.19.1", ["Gather9"], words=BAD, ensemble=GOOD)
    newer = environment("2.21.0", [], words=GOOD, ensemble=GOOD)
    lines = server_versions.table(OPERATIONS, [older, newer]).splitlines()
    rows = [[c.strip() for c in line.split("|")[1:-1]] for line in lines]
    assert rows[0] == ["TensorFlow, TF Text", "words", "ensemble", "lacking"]
    assert rows[1] == ["---"] * 4
    assert rows[2:] == [
        ["2.19.1, 2.19.0", "c_api_loads: no op Gather9", "3/3", "Gather9"],
        ["2.21.0, 2.19.0", "3/3", "3/3", "none"],
        ["operations", "2", "1", ""],
    ]


@pytest.mark.parametrize(("results", "status"), [(GOOD, 0), (BAD, 1)])
def test_the_status_is_that_of_the_checks(
    results, status, monkeypatch, capsys, tmp_path
):
    report = types.SimpleNamespace(path=pathlib.Path("1"), checks=())
    monkeypatch.setattr(
        server_versions, "write_exports", lambda folder: {"words": report}
    )
    monkeypatch.setattr(server_versions, "operations_of", lambda path: ["Add"])
    found = environment("2.19.1", [], words=results)
    monkeypatch.setattr(server_versions, "prove", lambda *given: found)
    assert server_versions.main([str(tmp_path), "2.19"]) == status
    assert "| words |" in capsys.readouterr().out


@pytest.mark.medium
def test_an_environment_says_what_it_lacks():
    looked = subprocess.run(
        [sys.executable, "-c", server_versions.LOOK],
        input=json.dumps(["Add", "Gather9", "TFText>BoiseTagsToOffsets"]),
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(looked.stdout)
    assert found["lacks"] == ["Gather9"]
    assert all(version[0].isdigit() for version in found["versions"])


@pytest.mark.medium
def test_checks_need_no_other_packages():
    others = "duckdb nltk opencc sacrebleu sentencepiece tqdm yaml"
    code = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({others.split()}))\n"
        "import keras_transformer.exporting.verification.saved_model_checks\n"
        "import keras_transformer.exporting.verification.c_api_checks"
    )
    run = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
