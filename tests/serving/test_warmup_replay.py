import threading

import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import prediction_log_pb2

from keras_transformer.serving.server.config_files import (
    BatchingParameters,
    ModelConfig,
)
from keras_transformer.serving.server.servable import (
    Servable,
    replay_full_batches,
)
from tests.fake_models import write_version
from tests.serving.asking import ONE, PREDICT, ask


class Recorder:
    """Answers nothing, but keeps what it was asked."""

    def __init__(self, fails=False):
        self.calls = []
        self.fails = fails
        self._lock = threading.Lock()

    def run(self, name, inputs):
        with self._lock:
            self.calls.append((name, inputs))
        if self.fails:
            raise tf.errors.ResourceExhaustedError(None, None, "memory")


@pytest.fixture
def records(tmp_path):
    path = tmp_path / "records"
    requests = [
        ("one", {"text": ["a"]}),
        ("one", {"text": ["long", "longer"]}),
        ("one", {"text": ["b"]}),
        ("two", {"ids": [[1, 2, 3]], "factor": [0.5]}),
        ("scalar", {"x": 1.0}),
    ]
    with tf.io.TFRecordWriter(str(path)) as writer:
        for name, inputs in requests:
            log = prediction_log_pb2.PredictionLog()
            request = log.predict_log.request
            request.model_spec.signature_name = name
            for key, value in inputs.items():
                request.inputs[key].CopyFrom(tf.make_tensor_proto(value))
            writer.write(log.SerializeToString())
    return path


def test_the_largest_records_are_repeated_to_full_batches(records):
    recorder = Recorder()
    replay_full_batches(records, recorder, rows=5, threads=3)
    # What has no rows can't have many.
    assert [name for name, _ in recorder.calls] == ["one"] * 3 + ["two"] * 3
    for _, inputs in recorder.calls[:3]:
        texts = [b"long", b"longer", b"long", b"longer", b"long"]
        assert inputs["text"].tolist() == texts
    inputs = recorder.calls[-1][1]
    assert inputs["ids"].tolist() == [[1, 2, 3]] * 5
    assert inputs["factor"].tolist() == [0.5] * 5
    assert inputs["factor"].dtype == np.float32
    # A record doesn't get shorter.
    replay_full_batches(records, recorder, rows=1, threads=1)
    assert recorder.calls[6][1]["text"].tolist() == [b"long", b"longer"]


def test_batches_that_fail_stop_nothing(records):
    recorder = Recorder(fails=True)
    replay_full_batches(records, recorder, rows=5, threads=2)
    assert len(recorder.calls) == 4


@pytest.mark.parametrize("batching", [True, False])
def test_a_server_that_batches_starts_with_full_batches(
    batching, serve, tmp_path, monkeypatch
):
    write_version(tmp_path, 1, warmup=["1", "22"])
    rows = []
    run = Servable.run

    def watched(self, name, inputs, outputs=()):
        rows.append(len(inputs["text"]))
        return run(self, name, inputs, outputs)

    monkeypatch.setattr(Servable, "run", watched)
    server = serve(
        models=(ModelConfig("toy", tmp_path),),
        parameters=BatchingParameters(max_batch_size=8, num_batch_threads=2),
        batching=batching,
    )
    assert rows == ([1, 1, 8, 8] if batching else [1, 1])
    assert ask(server, PREDICT, ONE).status == 200
