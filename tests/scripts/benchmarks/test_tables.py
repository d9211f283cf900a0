"""What benchmarks write into docs/performance.md."""

import json
import pathlib
import shutil

import pytest

from scripts.benchmarks import command, page_parts
from scripts.benchmarks.serving import table as serving
from scripts.benchmarks.training import __main__ as benchmark
from scripts.benchmarks.training import table as training

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "performance.md"
ENVIRONMENT = {"processor": "some", "cores": 2}
SETTING = {
    "precision": "float32",
    "tokens_per_second": 7000.0,
    "slowest": 6900.0,
    "fastest": 7100.4,
    "gflops": 50.0,
    "peak_memory_mib": 1000.0,
}
TRAINING = {
    "environment": ENVIRONMENT,
    "rounds": 3,
    "matrix_gflops": {"float32": 80.0, "bfloat16": 160.0},
    "settings": [
        {**SETTING, "epoch": {"dev_loss": 4.97891}},
        {**SETTING, "precision": "mixed_bfloat16"},
    ],
}
PEERS = [
    {"tokens_per_second": rate, "peer_memory_mib": 2000.0}
    for rate in (3500.0, 1400.0, 5000.0)
]
LOADED = {
    "sentences_per_second": 100.0,
    "slowest": 90.0,
    "fastest": 110.0,
    "p50_ms": 200.0,
    "p95_ms": 300.0,
    "p99_ms": 400.0,
    "batch_size": 12.34,
}
SERVING = {
    "environment": ENVIRONMENT,
    "options": {"batch_size": "32", "clients": "16", "rounds": "3"},
    "translator": {
        "sentences_per_second": 200.0,
        "slowest": 190.0,
        "fastest": 210.0,
    },
    "settings": {"num_batch_threads=2": LOADED},
    "unbatched": {**LOADED, "sentences_per_second": 50.0},
}
OVERLOAD = {
    "capacity_per_second": 210.0,
    "statuses": {"200": 1234, "429": 5678},
    "connection_errors": 0,
    "timeouts": 1,
    "memory_mib": [900.0, 950.0, 940.0],
    "accepted": {"wrong_answers": 0, "max_ms": 2200.0},
}


@pytest.mark.parametrize("table", [training, serving], ids=lambda m: m.SCRIPT)
def test_the_page_has_a_part_for_it(table):
    text = PAGE.read_text("utf-8")
    for mark in page_parts.marks(table.SCRIPT):
        assert mark in text
    assert (PAGE.parents[1] / table.SCRIPT / "__main__.py").is_file()


def test_training_beside_the_peer():
    text = training.page({**TRAINING, "peers": PEERS})
    assert "Measured with cores 2, processor some; 3 rounds in turn" in text
    assert (
        "| float32 | 7,000 (6,900 to 7,100) | 2.00 | 62.5% | 1,000 | 0.50 "
        "| 4.979 |" in text
    )
    assert "| mixed_bfloat16 | 7,000 (6,900 to 7,100) | 2.00 |  |" in text
    assert "OpenNMT-tf, every round: 3,500 / 1,400 / 5,000 tokens/s." in text


def test_training_alone_compares_nothing():
    text = training.page({**TRAINING, "quick": "rough"})
    assert text.startswith("**Not to be quoted: rough.**")
    assert "| float32 | 7,000 (6,900 to 7,100) |  | 62.5% | 1,000 |  |" in text
    assert "every round" not in text


def test_serving_with_an_overload():
    text = serving.page({**SERVING, "overload": OVERLOAD})
    assert "16 clients, 3 rounds in turn" in text
    assert "| `translate`, batches of 32 | 200 (190 to 210) | 1.00 |  |" in text
    assert (
        "| num_batch_threads=2 | 100 (90 to 110) | 0.50 | 200 / 300 / 400 "
        "| 12.3 |" in text
    )
    assert "| without batching | 50 (90 to 110) | 0.25 |" in text
    assert "1,234 of status 200, 5,678 of status 429; lost 0" in text
    assert "slowest took 2,200 ms. Memory: 900 MiB at first, 940" in text


def test_serving_that_accepted_nothing():
    accepted = {"wrong_answers": 0, "max_ms": None}
    row = {**OVERLOAD, "accepted": accepted}
    text = serving.page({**SERVING, "overload": row})
    assert "none was accepted" in text
    assert "twice" not in serving.page(SERVING)


def test_a_benchmark_writes_its_part_alone(tmp_path, monkeypatch, capsys):
    page = shutil.copy(PAGE, tmp_path / "page.md")
    monkeypatch.setattr(benchmark, "_measure_all", lambda *_: dict(TRAINING))
    monkeypatch.setattr(benchmark, "_line", lambda row: row["precision"])
    assert benchmark.main(["--write", str(page), "--quick", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["quick"] == command.QUICK_NOTE
    first, last = page_parts.marks(training.SCRIPT)
    before, _, rest = PAGE.read_text("utf-8").partition(first)
    expected = f"{before}{first}\n\n{training.page(printed)}\n\n"
    assert page.read_text("utf-8") == expected + last + rest.partition(last)[2]


def test_a_table_of_training_on_jax_is_refused(capsys):
    with pytest.raises(SystemExit):
        benchmark.main(["--backend", "jax", "--write", "page.md"])
    assert "--write goes with --backend tensorflow" in capsys.readouterr().err
