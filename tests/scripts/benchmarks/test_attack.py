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


def test_a_fault_writes_nothing(page, monkeypatch):
    monkeypatch.setattr(benchmark, "attack", lambda *_: None)
    assert benchmark.main(["--write", str(page)]) == 1
    assert page.read_bytes() == PAGE.read_bytes()


def test_a_size_of_nothing_is_refused(capsys):
    with pytest.raises(SystemExit):
        benchmark.main(["--size=0"])
    assert "--size must be above 0" in capsys.readouterr().err


def test_a_fault_of_the_tests_is_told():
    tests = ["tests/attack/there_is_no_such_test.py"]
    assert benchmark.attack(0.01, tests) is None


def test_the_page_has_parts_for_both_commands():
    text = PAGE.read_text("utf-8")
    for name in (benchmark.NAME, "tests/attack/mixed_load.py"):
        for mark in page_parts.marks(name):
            assert mark in text


@pytest.mark.parametrize(("count", "said"), [(1, "1 core"), (2, "2 cores")])
def test_a_machine_is_said_in_words(count, said):
    machine = {"cores": count, "processor": "some", "python": "3"}
    assert page_parts.machine_said(machine) == f"{said} (some)"
