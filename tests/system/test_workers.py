"""Worker processes: order, errors, deaths, and that none is left."""

import os
import signal
import time

import pytest

from keras_transformer.errors import InputError
from keras_transformer.system.workers import Workers
from keras_transformer.translation.stream import stream_lines
from tests.processes import is_alive, started, wait_until_gone
from tests.toy_models import Refuse, Shout


def workers_of(factory, count):
    return Workers(factory, count, doing="shouting")


@pytest.fixture(scope="module")
def pool():
    with workers_of(Shout(), 2) as workers:
        yield workers


def through(workers, lines, **options):
    return list(stream_lines(lines, workers.map, **options))


@pytest.mark.parametrize("window", [1, 1000])
@pytest.mark.parametrize("count", [0, 40])
def test_order_is_kept(pool, count, window):
    lines = [f"{'x' * (i * 7 % 5)}{i}" for i in range(count)]
    lines[3:3] = ["", "  "]
    found = through(pool, lines, batch_size=3, window=window)
    assert found == [line.strip().upper() for line in lines]


def test_order_is_kept_when_workers_are_unequally_slow():
    lines = ["x" * (i * 37 % 19 + 1) for i in range(60)]
    with workers_of(Shout(delay=0.002), 2) as workers:
        found = through(workers, lines, batch_size=1, window=10)
    assert found == [line.upper() for line in lines]


def test_batches_larger_than_a_pipe_pass(pool):
    lines = [letter * 300_000 for letter in "abcdefgh"]
    found = through(pool, lines, batch_size=2)
    assert found == [line.upper() for line in lines]


def test_a_stream_left_early_does_not_disturb_the_next(pool):
    results = stream_lines(["a"] * 50, pool.map, batch_size=1)
    next(results)
    results.close()
    assert through(pool, ["b", "c"], batch_size=1) == ["B", "C"]


def test_an_error_at_the_start_is_told_in_one_line():
    with pytest.raises(InputError, match="^run/weights: damaged$"):
        with workers_of(Refuse(), 1):
            pass


@pytest.mark.parametrize(
    ("word", "error", "says"),
    [
        ("wrong", InputError, "^line 7: a wrong word$"),
        ("full", MemoryError, "no room"),
        ("bug", RuntimeError, "in a shouting worker:(.|\n)*no such word"),
        ("exit", InputError, "worker .* ended with status 3; out of memory"),
    ],
)
def test_an_error_in_a_worker_is_raised_here(word, error, says):
    with workers_of(Shout(), 1) as workers:
        process_ids = workers.process_ids
        with pytest.raises(error, match=says):
            through(workers, ["a", word, "b"] * 20, batch_size=1)
    wait_until_gone(process_ids)


def test_a_killed_worker_is_told_and_the_others_end():
    with workers_of(Shout(), 2) as workers:
        process_ids = workers.process_ids

        def lines():
            yield from ["a"] * 5
            os.kill(process_ids[1], signal.SIGKILL)
            yield from ["b"] * 100

        with pytest.raises(InputError, match="killed by SIGKILL; out of mem"):
            through(workers, lines(), batch_size=1, window=1)
    wait_until_gone(process_ids)


def test_workers_in_the_midst_of_a_batch_end_at_once():
    with workers_of(Shout(), 2) as workers:
        process_ids = workers.process_ids
        results = stream_lines(
            ["a", "sleep"], workers.map, batch_size=1, window=1
        )
        assert next(results) == "A"
        began = time.monotonic()
    assert time.monotonic() - began < 4
    wait_until_gone(process_ids)


def test_workers_end_when_their_parent_is_killed():
    program = """if __name__ == "__main__":
    from keras_transformer.translation.stream import stream_lines
    from keras_transformer.system.workers import Workers
    from tests.toy_models import Shout
    with Workers(Shout(), 2, doing="shouting") as workers:
        print(*workers.process_ids, flush=True)
        list(stream_lines(["sleep"], workers.map))
"""
    with started(program) as process:
        process_ids = [int(word) for word in process.stdout.readline().split()]
        assert len(process_ids) == 2
        assert all(map(is_alive, process_ids))
    wait_until_gone(process_ids)
