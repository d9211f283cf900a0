"""The command that attacks, and its table of figures."""

import json

from scripts.benchmarks.attack import __main__ as benchmark

ROWS = [
    {
        "attack": "rest_requests",
        "count": 20_000,
        "seconds": 200.0,
        "worst": 0.75,
        "mib": 612,
    },
    {
        "attack": "full disk: train",
        "count": 10,
        "seconds": 100.0,
        "worst": None,
        "mib": 2048,
    },
]


def test_figures_are_printed_as_a_table_and_as_json(monkeypatch, capsys):
    asked = []

    def attack(*options):
        asked.append(options)
        return ROWS

    monkeypatch.setattr(benchmark, "attack", attack)
    assert benchmark.main(["--size", "0.5"]) == 0
    assert asked == [(0.5, ["tests/attack"])]
    printed = capsys.readouterr()
    assert json.loads(printed.out) == ROWS
    assert "| rest requests | 20,000 | 0 | 0.75 s | 612 MiB |" in printed.err
    assert "| full disk: train | 10 | 0 |  | 2,048 MiB |" in printed.err
    assert "Size 0.5, on " in printed.err
    assert ", in 5 minutes." in printed.err


def test_a_fault_prints_no_table(monkeypatch, capsys):
    monkeypatch.setattr(benchmark, "attack", lambda *_: None)
    assert benchmark.main([]) == 1
    printed = capsys.readouterr()
    assert not printed.out
    assert "faults, see above" in printed.err
