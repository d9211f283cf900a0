"""The command that attacks, and the page that gets its figures."""

import shutil

import pytest

from scripts.benchmarks import page_parts
from scripts.benchmarks.attack import __main__ as benchmark
from tests.cli.conftest import ROOT

PAGE = ROOT / "docs" / "reliability.md"
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


@pytest.fixture
def page(tmp_path):
    return shutil.copyfile(PAGE, tmp_path / "page.md")


def test_figures_come_into_the_page(page, monkeypatch, capsys):
    asked = []

    def attack(*options):
        asked.append(options)
        return ROWS

    monkeypatch.setattr(benchmark, "attack", attack)
    words = ["--size", "0.5", "--write", str(page)]
    for _ in range(2):
        assert benchmark.main(words) == 0
    assert asked == [(0.5, ["tests/attack"])] * 2
    text = page.read_text("utf-8")
    assert text.count("| rest requests | 20,000 | 0 | 0.75 s | 612 MiB |") == 1
    assert text.count("| full disk: train | 10 | 0 |  | 2,048 MiB |") == 1
    assert "Size 0.5, on " in text
    assert ", in 5 minutes." in text


def test_the_page_has_parts_for_both_commands():
    text = PAGE.read_text("utf-8")
    for name in (benchmark.NAME, "tests/attack/mixed_load.py"):
        for mark in page_parts.marks(name):
            assert mark in text
