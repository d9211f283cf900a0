"""Layers are quantised quickly."""

import gc

import pytest


@pytest.fixture(autouse=True)
def no_collection(monkeypatch):
    """Keras collects garbage, half a second, after each matrix it quantises."""
    monkeypatch.setattr(gc, "collect", lambda generation=2: 0)
