import contextlib
import threading
import time
import weakref

import numpy as np
import pytest
from tensorflow.core.framework.types_pb2 import DT_FLOAT, DT_STRING
from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef

from keras_transformer.contract.status import Code, ServingError
from keras_transformer.serving.server.batching import Batcher
from keras_transformer.serving.server.config_files import BatchingParameters
from tests.serving.asking import wait_for

SECONDS = 20


class FakeServable:
    """Adds 1, when its gate is open; refuses negative numbers."""

    name = "toy"

    definition = SignatureDef()
    definition.inputs["x"].dtype = DT_FLOAT
    definition.inputs["x"].tensor_shape.unknown_rank = True

    def __init__(self):
        self.batches = []
        self.gate = threading.Event()
        self.gate.set()
        self.started = threading.Semaphore(0)
        self.outputs = lambda x: {"y": x + 1}

    def signature(self, name):
        if name not in ("", "other"):
            raise ServingError(Code.FAILED_PRECONDITION, "not found")
        return self.definition

    def run_batch(self, name, inputs, outputs=()):
        self.started.release()
        assert self.gate.wait(SECONDS)
        return self.answer(name, **inputs)

    def answer(self, name, x):
        self.batches.append((name, x.tolist()))
        if (x < 0).any():
            raise ServingError(Code.OUT_OF_RANGE, "negative")
        return self.outputs(x)


@pytest.fixture
def servable():
    return FakeServable()


@pytest.fixture
def batcher():
    """Makes batchers, and closes them in the end."""
    with contextlib.ExitStack() as stack:

        def make(observe=lambda *_: None, **parameters):
            values = {"num_batch_threads": 1, **parameters}
            made = Batcher(BatchingParameters(**values), True, observe)
            stack.callback(made.close, SECONDS)
            return made

        yield make


def x(*values):
    return {"x": np.array(values, np.float32)}


def held_up(batcher, servable, **parameters):
    """A batcher whose one worker is busy until the gate opens."""
    one = batcher(**parameters)
    servable.gate.clear()
    busy = one.submit(servable, "", x(0))
    assert servable.started.acquire(timeout=SECONDS)
    return one, busy


class FakeTranslator(FakeServable):
    """Translates to upper case, when its gate is open."""

    definition = SignatureDef()
    definition.inputs["text"].dtype = DT_STRING
    definition.inputs["text"].tensor_shape.dim.add(size=-1)
    for name in ("translation", "score", "truncated", "sentences"):
        definition.outputs[name].dtype = DT_STRING

    def answer(self, name, text):
        self.batches.append(len(text))
        upper = [one.upper() for one in text]
        return {"translation": np.array(upper, object)}


def test_requests_are_joined_and_split_again(batcher, servable):
    seen = []
    one, _ = held_up(batcher, servable, observe=lambda *row: seen.append(row))
    futures = [one.submit(servable, "", x(*row)) for row in ([1], [2, 3], [])]
    servable.gate.set()
    results = [f.result(SECONDS)["y"].tolist() for f in futures]
    assert results == [[2], [3, 4], []]
    assert servable.batches == [("", [0]), ("", [1, 2, 3])]
    assert [row[:2] for row in seen] == [("toy", 1), ("toy", 3)]


def test_those_who_were_just_answered_join_those_who_waited(batcher, servable):
    """As clients do that send one request after the other."""
    one, busy = held_up(batcher, servable, batch_timeout_micros=500_000)
    waiting = one.submit(servable, "", x(1))
    # Longer than it would wait for company if a worker were free.
    time.sleep(0.6)
    servable.gate.set()
    busy.result(SECONDS)
    back = one.submit(servable, "", x(2))
    assert waiting.result(SECONDS)["y"].tolist() == [2]
    assert back.result(SECONDS)["y"].tolist() == [3]
    assert servable.batches == [("", [0]), ("", [1, 2])]


def test_batches_are_no_larger_than_allowed(batcher, servable):
    one, _ = held_up(batcher, servable, max_batch_size=3)
    futures = [one.submit(servable, "", x(i, i)) for i in range(3)]
    servable.gate.set()
    assert [f.result(SECONDS)["y"][0] for f in futures] == [1, 2, 3]
    assert len(servable.batches) == 4
    with pytest.raises(ServingError, match="size 4 is larger than .* 3"):
        one.submit(servable, "", x(1, 2, 3, 4))


def test_signatures_outputs_and_shapes_are_kept_apart(batcher, servable):
    one, _ = held_up(batcher, servable)
    wide = {"x": np.ones((1, 2), np.float32)}
    futures = [
        one.submit(servable, "", x(1)),
        one.submit(servable, "other", x(2)),
        one.submit(servable, "", wide),
        one.submit(servable, "", x(3), ("y",)),
        one.submit(servable, "", x(4)),
    ]
    servable.gate.set()
    assert futures[2].result(SECONDS)["y"].tolist() == [[2, 2]]
    assert [f.result(SECONDS)["y"].tolist() for f in futures[::4]] == [[2], [5]]
    futures[3].result(SECONDS)
    apart = [("", [1, 4]), ("", [3]), ("", [[1, 1]]), ("other", [2])]
    assert sorted(servable.batches[1:], key=str) == apart


def test_a_request_waits_for_others_for_a_time(batcher, servable):
    one = batcher(max_batch_size=2, batch_timeout_micros=10_000_000)
    first = one.submit(servable, "", x(1))
    second = one.submit(servable, "", x(2))
    assert first.result(SECONDS)["y"].tolist() == [2]
    assert second.done()
    assert servable.batches == [("", [1, 2])]
    alone = batcher(max_batch_size=2, batch_timeout_micros=50_000)
    began = time.monotonic()
    alone.submit(servable, "", x(1)).result(SECONDS)
    assert time.monotonic() - began >= 0.05
    with pytest.raises(ServingError, match="at least one dimension"):
        alone.submit(servable, "", {"x": np.ones((), np.float32)})


def test_a_bad_request_does_not_fail_its_neighbours(batcher, servable):
    one, _ = held_up(batcher, servable)
    good, bad = one.submit(servable, "", x(1)), one.submit(servable, "", x(-1))
    servable.gate.set()
    assert good.result(SECONDS)["y"].tolist() == [2]
    with pytest.raises(ServingError, match="negative") as raised:
        bad.result(SECONDS)
    assert raised.value.code is Code.OUT_OF_RANGE


def test_a_worker_that_waits_keeps_no_version(batcher):
    one, servable = batcher(), FakeServable()
    kept = weakref.ref(servable)
    one.submit(servable, "", x(1)).result(SECONDS)
    del servable
    wait_for(lambda: kept() is None)


def texts(*values):
    return {"text": np.array(values, object)}


@pytest.mark.parametrize(
    ("values", "sizes"),
    [
        ([], [0]),
        ([b"a"] * 64, [64]),
        ([b"a"] * 130, [64, 64, 2]),
        ([b"a" * 20_000] * 2, [1, 1]),
        ([b"a" * 8192] * 3 + [b"b"], [2, 2]),
    ],
)
def test_a_long_request_runs_in_slices(batcher, values, sizes):
    translator = FakeTranslator()
    future = batcher().submit(translator, "", texts(*values))
    upper = [text.upper() for text in values]
    assert future.result(SECONDS)["translation"].tolist() == upper
    assert translator.batches == sizes


def test_no_slice_runs_of_what_nobody_waits_for(batcher):
    one, translator = batcher(), FakeTranslator()
    translator.gate.clear()
    long = texts(*[b"a"] * 130)
    soon = time.monotonic() + 1
    late = one.submit(translator, "", long, deadline=soon)
    assert translator.started.acquire(timeout=SECONDS)
    time.sleep(max(0.0, soon - time.monotonic()))
    translator.gate.set()
    with pytest.raises(ServingError) as raised:
        late.result(SECONDS)
    assert raised.value.code is Code.DEADLINE_EXCEEDED
    other = one.submit(translator, "", texts(b"b")).result(SECONDS)
    assert other["translation"].tolist() == [b"B"]
    assert translator.batches == [64, 1]


def test_outputs_without_a_row_for_each_of_the_inputs(batcher, servable):
    one, _ = held_up(batcher, servable)
    servable.outputs = lambda values: {"y": values.sum(keepdims=True)}
    futures = [one.submit(servable, "", x(i, i)) for i in range(2)]
    servable.gate.set()
    # Alone nothing has to be split.
    assert [f.result(SECONDS)["y"].tolist() for f in futures] == [[0], [2]]
