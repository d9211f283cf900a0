"""The hour of mixed load, for half a minute."""

import shutil

import pytest

from scripts.benchmarks import page_parts
from tests.attack import mixed_load
from tests.cli.conftest import ROOT

pytestmark = pytest.mark.slow


def test_half_a_minute(monkeypatch, tmp_path):
    monkeypatch.setattr(mixed_load, "SWAP", 2.0)
    monkeypatch.setattr(mixed_load, "PAUSE", 2.0)
    report = mixed_load.measure(0.5, clients=2)
    assert report["faults"] == []
    counts = report["counts"]
    for kind in ("REST", "gRPC", "versions", "damaged versions"):
        assert counts[kind] > 0, counts
    page = shutil.copyfile(ROOT / "docs/reliability.md", tmp_path / "page.md")
    part = mixed_load.page_part(report)
    page_parts.replace(page, mixed_load.NAME, part)
    assert "| wrong or lost | 0 |" in page.read_text("utf-8")
