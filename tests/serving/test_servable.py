import gc
import json
import shutil
import time
import weakref

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keras_transformer.contract.layout import DESCRIPTION, SAVED_MODEL
from keras_transformer.contract.status import ServingError, as_serving_error
from keras_transformer.errors import InputError
from keras_transformer.serving.server import servable as module
from keras_transformer.serving.server.servable import Servable
from keras_transformer.serving.server.signature_tensors import complete_inputs
from tests.attack.served import Served
from tests.fake_models import write_version, write_warmup
from tests.serving.asking import PREDICT, ask


@pytest.fixture(scope="module")
def servable(toy_base):
    servable = Servable("toy", 2, toy_base / "2")
    yield servable
    servable.close()


def test_a_graph_that_lacks_a_function_is_refused_at_once(toy_base, tmp_path):
    """TensorFlow's error quotes all the graph: it isn't searched for nodes."""
    folder = tmp_path / "3"
    shutil.copytree(toy_base / "2", folder)
    saved = saved_model_pb2.SavedModel.FromString(
        (folder / SAVED_MODEL).read_bytes()
    )
    (graph,) = saved.meta_graphs
    functions = {f.signature.name: f for f in graph.graph_def.library.function}
    (name,) = [n for n in functions if "signature_wrapper_number" in n]
    functions[name].signature.name = "renamed"
    (folder / SAVED_MODEL).write_bytes(saved.SerializeToString())
    begin = time.monotonic()
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        Servable("toy", 3, folder).close()
    assert time.monotonic() - begin < 5
    error = as_serving_error(caught.value)
    assert error.message.startswith("Restoring from checkpoint failed")
    assert len(error.message) < 2000


def test_an_input_with_a_default_may_be_left_out(servable):
    signature = type(servable.signatures["add"])()
    signature.CopyFrom(servable.signatures["add"])
    signature.defaults["y"].CopyFrom(tf.make_tensor_proto([2.5]))
    x = np.ones(1, np.float32)
    assert complete_inputs(signature, {"x": x})["y"].tolist() == [2.5]
    assert complete_inputs(signature, {"x": x, "y": x})["y"].tolist() == [1]
    with pytest.raises(ServingError, match="required: {x}"):
        complete_inputs(signature, {"y": x})


def test_a_version_that_was_unloaded_leaves_no_graph(toy_base):
    servable = Servable("toy", 2, toy_base / "2")
    graph = weakref.ref(servable._session._session.graph)
    gc.disable()
    try:
        servable.close()
        del servable
        assert graph() is None
    finally:
        gc.enable()


def test_the_memory_of_an_unloaded_version_is_given_back(toy_base, monkeypatch):
    servable = Servable("toy", 2, toy_base / "2")
    close, events = servable._session.close, []
    monkeypatch.setattr(
        servable._session, "close", lambda: events.append(close())
    )
    monkeypatch.setattr(
        module, "give_back_memory", lambda: events.append("given back")
    )
    servable.close()
    assert events == [None, "given back"]


def test_a_damaged_description_fails_the_load(tmp_path):
    folder = write_version(tmp_path, 1)
    (folder / DESCRIPTION).parent.mkdir(exist_ok=True)
    (folder / DESCRIPTION).write_text('{"data": ')
    with pytest.raises(InputError, match="damaged, not JSON"):
        Servable("toy", 1, folder)


def test_warmup_records_that_fail_fail_the_load(tmp_path):
    folder = write_version(tmp_path, 1, warmup=["1", "no number"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="no number"):
        Servable("toy", 1, folder)
    warmup = folder / "assets.extra/tf_serving_warmup_requests"
    write_warmup(warmup, ["1"] * 1001)
    with pytest.raises(ServingError, match="exceeds the maximum"):
        Servable("toy", 1, folder)
    for record, says in (
        (b"\xff\xff", "warmup record 1 "),
        (b"", "Unsupported log_type"),
    ):
        with tf.io.TFRecordWriter(str(warmup)) as writer:
            writer.write(record)
        with pytest.raises(ServingError, match=says):
            Servable("toy", 1, folder)


@pytest.mark.medium
def test_what_must_be_compiled_is_refused(tmp_path):
    """As by the stock server, which runs without XLA."""
    module = tf.Module()
    compiled = tf.function(lambda x: x + 1.0, jit_compile=True, autograph=False)
    serve = tf.function(
        lambda x: {"y": compiled(x)},
        input_signature=[tf.TensorSpec([None], tf.float32, name="x")],
        autograph=False,
    )
    tf.saved_model.save(module, str(tmp_path / "toy/1"), serve)
    with Served("--model_base_path", tmp_path / "toy") as server:
        answer = ask(server, PREDICT, b'{"instances": [1.0]}')
    assert answer.status == 500  # as TensorFlow says, INTERNAL
    assert "XLA compilation disabled" in json.loads(answer.body)["error"]


def test_the_initializer_is_no_signature(servable):
    with pytest.raises(ServingError, match="not a predict") as raised:
        servable.run("__saved_model_init_op", {})
    assert raised.value.http_status == 400
