"""Measuring the server under load, at a size that measures nothing."""

import json
import shutil

import pytest

from scripts.benchmarks.models import export_forced
from scripts.benchmarks.serving import __main__ as benchmark

needs_wrk = pytest.mark.skipif(not shutil.which("wrk"), reason="needs wrk")


def test_ratios_and_table():
    rates = {"sentences_per_second": 80.0, "slowest": 70.0, "fastest": 90.0}
    times = {"p50_ms": 1.0, "p95_ms": 2.0, "p99_ms": 3.0, "batch_size": 9.0}
    report = {
        "translator": {**rates, "sentences_per_second": 100.0},
        "batched": {**rates, **times},
        "unbatched": {**rates, **times, "sentences_per_second": 40.0},
    }
    report["settings"] = {
        "as exported": report["batched"],
        "num_batch_threads=9": {**rates, **times},
    }
    report["best"] = "as exported"
    ratios = benchmark._ratios(report)
    assert ratios == {
        "served_vs_translator": 0.8,
        "served_vs_unbatched": 2.0,
    }
    table = "\n".join(benchmark._table({**report, "ratios": ratios}))
    said = "80.0 a second (70.0 to 90.0), p50/p95/p99 1 / 2 / 3 ms"
    assert f"as exported {said}" in table
    assert f"num_batch_threads=9 {said}" in table
    assert "settings: as exported" in table


@pytest.mark.slow
@needs_wrk
def test_all_of_it(tmp_path, capsys):
    """With a model of random weights that nobody waits for."""
    pytest.importorskip("uvicorn", reason="needs the extra [serving]")
    from tests.toy_models import write_corpus
    from tests.toy_runs import prepare_words, untrained_run

    write_corpus(tmp_path)
    lines = (tmp_path / "train.tsv").read_text().splitlines(keepends=True)
    prepare_words(tmp_path, lines, 0.1)
    run = untrained_run(tmp_path / "run", tmp_path / "data")
    version = export_forced(tmp_path, run.folder, "float32", 3)
    (tmp_path / "model").mkdir()
    version.rename(tmp_path / "model" / "1")
    options = ["--seconds=4", "--warm-up=2", "--overload-seconds=12"]
    options += ["--rounds=1", "--clients=4", "--sentences=20", "--workers=1"]
    options += ["--saved-model", str(tmp_path / "model"), "--json"]
    assert benchmark.main(options) == 0
    report = json.loads(capsys.readouterr().out)
    assert 0 < report["ratios"]["served_vs_translator"] < 5
    assert report["batched"]["batch_size"] >= 1
    beyond = report["overload"]
    assert beyond["capacity_per_second"] > 0
    assert beyond["alive"]
    assert beyond["memory_mib"]
    assert set(beyond["statuses"]) <= {"200", "429", "503"}
    assert beyond["accepted"]["wrong_answers"] == 0
