"""The hour of mixed load, for half a minute."""

import pytest

from tests.attack import mixed_load

pytestmark = pytest.mark.slow


def test_half_a_minute(monkeypatch):
    monkeypatch.setattr(mixed_load, "SWAP", 2.0)
    monkeypatch.setattr(mixed_load, "PAUSE", 2.0)
    report = mixed_load.measure(0.5, clients=2)
    assert report["faults"] == []
    counts = report["counts"]
    for kind in ("http", "grpc", "versions", "damaged versions"):
        assert counts[kind] > 0, counts
