"""Workers that translate; see also `tests/system/test_workers.py`."""

import os

import pytest

from keras_transformer.errors import InputError
from keras_transformer.translation import workers
from keras_transformer.translation.stream import stream_lines
from keras_transformer.translation.workers import (
    choose_workers,
    translation_workers,
)
from tests.toy_models import Shout, Whereabouts


def through(workers, lines, **options):
    return list(stream_lines(lines, workers.map, **options))


@pytest.mark.medium
def test_every_worker_translates_with_the_threads_asked_for():
    with translation_workers(Whereabouts(), 2, threads=1) as workers:
        found = set(through(workers, ["x"] * 200, batch_size=1))
        assert found == {(pid, 1) for pid in workers.process_ids}
        assert os.getpid() not in workers.process_ids


@pytest.mark.parametrize("options", [{"count": 0}, {"count": 1, "threads": 0}])
def test_refuses_numbers_that_are_none(options):
    with pytest.raises(InputError, match="must be 1 or more. Received: 0"):
        translation_workers(Shout(), **options)


@pytest.mark.parametrize(
    ("asked", "sentences", "gpu", "expected"),
    [
        (None, 0, False, 1),
        (None, 64, False, 1),
        (None, 65, False, 2),
        (None, 200, False, 4),
        (None, 3200, False, 8),
        (None, 3200, True, 1),
        (3, 1, False, 3),
        (1, 3200, False, 1),
    ],
)
def test_how_many_workers(asked, sentences, gpu, expected, monkeypatch):
    monkeypatch.setattr(workers, "usable_cores", lambda: 8)
    monkeypatch.setattr(workers, "has_gpu", lambda: gpu)
    assert choose_workers(asked, sentences, batch_size=64) == expected
