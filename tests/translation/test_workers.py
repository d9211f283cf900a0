"""Worker processes: order, errors, deaths, and that none is left."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from keras_transformer.errors import InputError
from keras_transformer.translation import workers
from keras_transformer.translation.stream import stream_lines
from keras_transformer.translation.workers import Workers, choose_workers
from tests.toy_models import (
    Refuse,
    Shout,
    Whereabouts,
    compiling,
    set_up,
    tell_set_up,
)

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pool():
    with Workers(Shout(), 2) as workers:
        yield workers


def alive(process_id):
    """Whether a process runs; one that waits to be collected doesn't."""
    try:
        text = pathlib.Path(f"/proc/{process_id}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def wait_until_gone(process_ids):
    deadline = time.monotonic() + 30
    while any(map(alive, process_ids)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def through(workers, lines, **options):
    return list(stream_lines(lines, workers.translate_batches, **options))


@pytest.mark.parametrize("window", [1, 3, 7, 1000])
@pytest.mark.parametrize("count", [0, 1, 40])
def test_order_is_kept(pool, count, window):
    lines = [f"{'x' * (i * 7 % 5)}{i}" for i in range(count)]
    lines[3:3] = ["", "  "]
    found = through(pool, lines, batch_size=3, window=window)
    assert found == [line.strip().upper() for line in lines]


def test_order_is_kept_when_workers_are_unequally_slow():
    lines = ["x" * (i * 37 % 19 + 1) for i in range(60)]
    with Workers(Shout(delay=0.002), 2) as workers:
        found = through(workers, lines, batch_size=1, window=10)
    assert found == [line.upper() for line in lines]


def test_batches_larger_than_a_pipe_pass(pool):
    lines = [letter * 300_000 for letter in "abcdefgh"]
    found = through(pool, lines, batch_size=2)
    assert found == [line.upper() for line in lines]


def test_reads_a_bounded_number_of_batches_ahead(pool):
    read = 0

    def lines():
        nonlocal read
        for _ in range(1000):
            read += 1
            yield "x"

    results = stream_lines(
        lines(), pool.translate_batches, batch_size=1, window=1
    )
    for done in range(20):
        next(results)
        assert read <= done + 1 + 4 * 2
    results.close()


def test_a_stream_left_early_does_not_disturb_the_next(pool):
    results = stream_lines(["a"] * 50, pool.translate_batches, batch_size=1)
    next(results)
    results.close()
    assert through(pool, ["b", "c"], batch_size=1) == ["B", "C"]


def test_every_worker_translates_with_the_threads_asked_for():
    with Workers(Whereabouts(), 2, threads=1) as workers:
        found = set(through(workers, ["x"] * 200, batch_size=1))
        assert found == {(pid, 1) for pid in workers.process_ids}
        assert os.getpid() not in workers.process_ids


def test_what_is_to_be_done_first_is_done():
    with Workers(tell_set_up, 1, prepare=set_up) as workers:
        assert through(workers, ["x"]) == ["yes"]


def test_compile_seconds_are_summed():
    with Workers(compiling, 2) as workers:
        through(workers, ["x"] * 200, batch_size=1)
        assert workers.compile_seconds == 3.0


def test_an_error_at_the_start_is_told_in_one_line():
    with pytest.raises(InputError, match="^run/weights: damaged$"):
        with Workers(Refuse(), 1):
            pass


@pytest.mark.parametrize(
    ("word", "error", "says"),
    [
        ("wrong", InputError, "^line 7: a wrong word$"),
        ("full", MemoryError, "no room"),
        ("bug", RuntimeError, "in a translating worker:(.|\n)*no such word"),
        ("exit", InputError, "worker .* ended with status 3; out of memory"),
    ],
)
def test_an_error_in_a_worker_is_raised_here(word, error, says):
    with Workers(Shout(), 1) as workers:
        process_ids = workers.process_ids
        with pytest.raises(error, match=says):
            through(workers, ["a", word, "b"] * 20, batch_size=1)
    wait_until_gone(process_ids)


def test_a_killed_worker_is_told_and_the_others_end():
    with Workers(Shout(), 2) as workers:
        process_ids = workers.process_ids

        def lines():
            yield from ["a"] * 5
            os.kill(process_ids[1], signal.SIGKILL)
            yield from ["b"] * 100

        with pytest.raises(InputError, match="killed by SIGKILL; out of mem"):
            through(workers, lines(), batch_size=1, window=1)
    wait_until_gone(process_ids)


def test_workers_in_the_midst_of_a_batch_end_at_once():
    with Workers(Shout(), 2) as workers:
        process_ids = workers.process_ids
        results = stream_lines(
            ["a", "sleep"], workers.translate_batches, batch_size=1, window=1
        )
        assert next(results) == "A"
        began = time.monotonic()
    assert time.monotonic() - began < 4
    wait_until_gone(process_ids)


def test_workers_end_when_their_parent_is_killed():
    program = """if __name__ == "__main__":
    from keras_transformer.translation.stream import stream_lines
    from keras_transformer.translation.workers import Workers
    from tests.toy_models import Shout
    with Workers(Shout(), 2) as workers:
        print(*workers.process_ids, flush=True)
        list(stream_lines(["sleep"], workers.translate_batches))
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=ROOT
    )
    process_ids = [int(word) for word in process.stdout.readline().split()]
    assert len(process_ids) == 2 and all(map(alive, process_ids))
    process.kill()
    process.communicate()
    wait_until_gone(process_ids)


@pytest.mark.parametrize("options", [{"count": 0}, {"count": 1, "threads": 0}])
def test_refuses_numbers_that_are_none(options):
    with pytest.raises(InputError, match="must be 1 or more. Received: 0"):
        Workers(Shout(), **options)


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
