"""The parts of docs/performance.md that are written from results."""

import json
import pathlib
import shutil

import pytest

from scripts.benchmarks import page_parts
from scripts.benchmarks.ctranslate2_export.__main__ import SCRIPT
from scripts.tools import performance_page

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "performance.md"
CELL = {
    "kind": "served",
    "batch": 1,
    "beam": 4,
    "precision": "int8",
    "jit": "off",
    "workers": 2,
    "threads": 1,
    "tokens_per_second": 1500,
    "slowest": 1400,
    "fastest": 1600,
    "latency_p50_ms": 1.5,
    "latency_p95_ms": 2.5,
    "peak_memory_mib": 900.4,
    "compile_seconds": None,
}
REPORT = {
    "environment": {"python": "3.11.7", "cores": 2},
    "sentences": 640,
    "rounds": 3,
    "ratios": {"served_b1_greedy": {"vs_float32": 1.234, "vs_int8": 0.5}},
    "cells": [
        {**CELL, "length": 20},
        {**CELL, "length": 60, "tokens_per_second": 3000},
    ],
    "peers": [{"int8 batch 1 beam 1": 10}, {"int8 batch 1 beam 1": 12}],
}
PROFILE = [
    {
        "title": "batch 1",
        "microseconds": 99.6,
        "operations": [
            {"operation": "Cast", "microseconds": 1.4, "calls": 2.0}
        ],
    }
]


@pytest.fixture
def page(tmp_path):
    return shutil.copy(PAGE, tmp_path / "performance.md")


@pytest.fixture
def results(tmp_path):
    """The options with which files of results are given."""
    options = []
    reports = {"peer": REPORT, "growth": REPORT, "profile": PROFILE}
    for name, report in reports.items():
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps(report))
        options += [f"--{name}", str(path)]
    return options


def part(page, script):
    """What stands between a script's marks, and what doesn't."""
    first, last = page_parts.marks(script)
    before, _, rest = page.read_text("utf-8").partition(first)
    text, _, after = rest.partition(last)
    return text, before + after


def test_the_page_has_a_part_for_each_script():
    for script in (performance_page.DECODING, performance_page.EXPORTS, SCRIPT):
        assert part(PAGE, script)[0].strip()


def test_decoding_is_written_in_its_part_alone(page, results):
    around = part(page, performance_page.DECODING)[1]
    assert performance_page.main([*results, "--write", str(page)]) == 0
    text, after = part(page, performance_page.DECODING)
    assert after == around
    assert "| served_b1_greedy | 1.23 | 0.50 |" in text
    assert "| 1,500 (1,400 to 1,600) | 1.5 / 2.5 | 900 |" in text
    assert "| served | 1 | 4 | int8 | off | 1.00 | 0.50 |" in text
    assert "| CTranslate2 int8 batch 1 beam 1 |  | 10 / 12 |" in text
    assert "batch 1: 100 us a step" in text
    assert "| Cast | 1 | 2.0 |" in text
    headings = [line for line in text.splitlines() if line.startswith("#")]
    assert headings
    assert all(line.startswith("### ") for line in headings)


def test_exports_are_written_in_theirs(page, tmp_path):
    around = part(page, performance_page.EXPORTS)[1]
    path = tmp_path / "served.json"
    path.write_text(json.dumps(REPORT))
    arguments = ["--exports", str(path), "--write", str(page)]
    assert performance_page.main(arguments) == 0
    text, after = part(page, performance_page.EXPORTS)
    assert after == around
    assert "| served_b1_greedy | 1.23 | 0.50 |" in text


def test_results_that_are_missing_are_named(page, results, capsys):
    with pytest.raises(SystemExit):
        performance_page.main([*results[:4], "--write", str(page)])
    assert "--profile, or --exports" in capsys.readouterr().err
