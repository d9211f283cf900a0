"""The run of minutes on a GPU, rehearsed, and how TensorFlow gets there."""

import argparse
import os
import pathlib
import subprocess
import sys
import time

import pytest

from keras_transformer.training import jax_runtime
from scripts.benchmarks.gpu import __main__ as gpu
from scripts.benchmarks.gpu.results import Results

FOLDER = pathlib.Path(gpu.__file__).parent
# Downloads a file for each requirement, and installs what it is given.
PIP = """#!/usr/bin/env bash
set -eu
shift 3  # -m pip download, or install
while [ $# -gt 0 ]; do
  case "$1" in
    --dest | --target) folder="$2"; shift ;;
    *.whl) mkdir -p "$folder"; cp "$1" "$folder" ;;
    *==*) head -c 100000 /dev/zero > "$folder/$1.whl" ;;
  esac
  shift
done
"""


def _ends(options, results, until):
    results.add("base", reached=1)


def _fails(options, results, until):
    raise SystemExit(3)


def _hangs(options, results, until):
    subprocess.run(["sleep", "60"], check=True)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs stages of this module for so many seconds."""
    monkeypatch.setattr(gpu, "SHARES", dict.fromkeys(gpu.SHARES, 1.0))
    monkeypatch.setattr(gpu, "_GRACE", 0)
    monkeypatch.setattr(gpu, "_WORTH", 1)
    names = {"base": _ends, "torch": _fails, "small": _hangs, "big": _ends}
    for name, stage in names.items():
        monkeypatch.setattr(gpu.stages, name, stage)
    results = Results(tmp_path / "results.jsonl")

    def run(*stages, seconds=60):
        options = argparse.Namespace(
            quick=False, stages=stages, minutes=seconds / 60
        )
        gpu.run_stages(options, results, time.time() + seconds)
        return results

    return run


def test_a_stage_that_has_ended_is_not_run_again(run):
    run("base")
    ended = run("base").all()
    assert [set(line) - {"stage", "time"} for line in ended] == [
        {"reached"},
        {"ended", "seconds"},
    ]


def test_a_stage_that_fails_leaves_the_others(run):
    results = run("torch", "base")
    assert results.failed() == ["torch"]
    assert "exit status 3" in results.all()[0]["failed"]
    assert results.has_ended("base")


def test_no_stage_outlasts_its_time(run):
    started = time.time()
    results = run("small", seconds=3)
    assert time.time() - started < 30
    assert "cut off" in results.all()[0]["failed"]


def test_a_stage_without_time_is_left_out(run):
    (line,) = run("base", seconds=0).all()
    assert line["left_out"] == "the time is over"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "--data and --out, or --rehearse"),
        (["--data", "d", "--out", "o"], "Accepted: --rehearse"),
    ],
)
def test_what_it_needs_is_said(arguments, expected, capsys, monkeypatch):
    monkeypatch.setattr(gpu, "has_gpu", lambda: False)
    assert gpu.main(arguments) == 2
    assert expected in capsys.readouterr().err


def carry(folder, *arguments):
    path = f"{folder}:{os.environ['PATH']}"
    return subprocess.run(
        [FOLDER / "carry.sh", *map(str, arguments)],
        env={**os.environ, "PATH": path, "PIECE": "1M"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_wheels_arrive_as_they_were_sent(tmp_path):
    (tmp_path / "python").write_text(PIP)
    (tmp_path / "python").chmod(0o755)
    sent, target = tmp_path / "sent", tmp_path / "target"
    assert carry(tmp_path, "pack", sent).returncode == 0
    pieces = sorted(sent.glob("piece-*"))
    assert len(pieces) > 1
    assert all(piece.stat().st_size <= 1 << 20 for piece in pieces)
    assert carry(tmp_path, "unpack", sent, target).returncode == 0
    names = {path.name.partition("==")[0] for path in target.iterdir()}
    assert {"tensorflow-cpu", "tensorflow-text", "numpy"} <= names
    assert "tensorflow" not in names
    assert all(path.stat().st_size == 100_000 for path in target.iterdir())
    with pieces[1].open("r+b") as file:
        file.write(b"damage")
    assert carry(tmp_path, "unpack", sent, tmp_path / "other").returncode


@pytest.mark.slow
def test_all_stages_are_rehearsed(tmp_path):
    if not jax_runtime.is_installed():
        pytest.skip("jax isn't installed: pip install '.[jax]'")
    command = [sys.executable, FOLDER, "--rehearse", "--out", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results = Results(tmp_path / "results.jsonl")
    assert all(results.has_ended(name) for name in gpu.SHARES)
    by_stage = {
        name: [line for line in results.all() if line["stage"] == name]
        for name in gpu.SHARES
    }
    for name in ("base", "small"):
        epochs = [line for line in by_stage[name] if "epoch" in line]
        assert [line["epoch"] for line in epochs] == [1, 2]
        assert all(line["dev_loss"] > 0 for line in epochs)
        assert all(line["target_tokens_per_second"] > 0 for line in epochs)
        assert epochs[0]["programs"] > 0
        assert epochs[0]["share_of_peak"] == "unknown"
        assert "bleu" in by_stage[name][-2]["evaluated"]
    for name in ("torch", "big"):
        assert by_stage[name][0]["tokens_per_second"] > 0
    how = [line.get("how") for line in by_stage["compiling"][:3]]
    assert [name.partition(",")[0] for name in how] == [
        "compiled",
        "compiled",
        "from disk",
    ]
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.stderr.count("has ended before") == len(gpu.SHARES)
