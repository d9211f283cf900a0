import gc
import shutil
import time
import weakref

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from keras_transformer.contract.layout import SAVED_MODEL
from keras_transformer.contract.status import (
    Code,
    ServingError,
    as_serving_error,
)
from keras_transformer.serving.server.servable import Servable
from keras_transformer.serving.server.signature_tensors import complete_inputs
from tests.fake_models import write_version, write_warmup


@pytest.fixture(scope="module")
def servable(toy_base):
    servable = Servable("toy", 2, toy_base / "2")
    yield servable
    servable.close()


def texts(*values):
    return np.array([value.encode() for value in values], dtype=object)


def test_every_signature_runs(servable):
    outputs = servable.run("", {"text": texts("ab", "c")})
    assert outputs["translation"].tolist() == [b"AB", b"C"]
    outputs = servable.run("length", {"text": texts("ab", "")})
    assert outputs["length"].tolist() == [2, 0]
    assert outputs["is_empty"].tolist() == [False, True]
    outputs = servable.run("double", {"ids": np.array([[1, 2]], np.int32)})
    assert outputs["ids"].tolist() == [[2, 4]]


def test_a_graph_that_lacks_a_function_is_refused_at_once(toy_base, tmp_path):
    """TensorFlow's error quotes all the graph: it isn't searched for nodes."""
    folder = tmp_path / "3"
    shutil.copytree(toy_base / "2", folder)
    saved = saved_model_pb2.SavedModel.FromString(
        (folder / SAVED_MODEL).read_bytes()
    )
    (graph,) = saved.meta_graphs
    (function,) = [
        function
        for function in graph.graph_def.library.function
        if "signature_wrapper_number" in function.signature.name
    ]
    function.signature.name = "renamed"
    (folder / SAVED_MODEL).write_bytes(saved.SerializeToString())
    begin = time.monotonic()
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        Servable("toy", 3, folder).close()
    assert time.monotonic() - begin < 5
    error = as_serving_error(caught.value)
    assert error.message.startswith("Restoring from checkpoint failed")
    assert len(error.message) < 2000


def test_only_the_wanted_outputs_come(servable):
    outputs = servable.run("length", {"text": texts("ab")}, ("half",))
    assert {name: v.tolist() for name, v in outputs.items()} == {"half": [1.0]}


@pytest.mark.parametrize(
    ("signature", "inputs", "code", "says"),
    [
        ("other", {}, Code.FAILED_PRECONDITION, 'key "other" not found'),
        ("__saved_model_init_op", {}, Code.INVALID_ARGUMENT, "no signature"),
        ("", {}, Code.INVALID_ARGUMENT, "Missing but required: {text}"),
        (
            "",
            {"text": texts("a"), "more": texts("b")},
            Code.INVALID_ARGUMENT,
            "Sent extra: {more}",
        ),
        (
            "",
            {"text": np.zeros(1, np.float32)},
            Code.INVALID_ARGUMENT,
            "text to be string but float is provided",
        ),
        (
            "",
            {"text": texts("a").reshape(1, 1)},
            Code.INVALID_ARGUMENT,
            r"must be \[\?\]. Received: \[1,1\]",
        ),
    ],
)
def test_inputs_that_are_not_the_signatures(
    servable, signature, inputs, code, says
):
    with pytest.raises(ServingError, match=says) as raised:
        servable.run(signature, inputs)
    assert raised.value.code == code


def test_an_error_of_the_graph_is_one_line(servable):
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        servable.run("number", {"text": texts("x")})
    error = as_serving_error(raised.value)
    assert error.code is Code.INVALID_ARGUMENT
    assert error.message == (
        "StringToNumberOp could not correctly convert string: x"
    )


def test_an_input_with_a_default_may_be_left_out(servable):
    signature = type(servable.signatures["add"])()
    signature.CopyFrom(servable.signatures["add"])
    signature.defaults["y"].CopyFrom(tf.make_tensor_proto([2.5]))
    x = np.ones(1, np.float32)
    assert complete_inputs(signature, {"x": x})["y"].tolist() == [2.5]
    assert complete_inputs(signature, {"x": x, "y": x})["y"].tolist() == [1]
    with pytest.raises(ServingError, match="required: {x}"):
        complete_inputs(signature, {"y": x})


def test_a_failing_warmup_record_fails_the_load(tmp_path):
    folder = write_version(tmp_path, 1, warmup=["1", "no number"])
    with pytest.raises(tf.errors.InvalidArgumentError, match="no number"):
        Servable("toy", 1, folder)


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


def test_damaged_and_too_many_warmup_records_fail_the_load(tmp_path):
    folder = write_version(tmp_path, 1, warmup=["1"])
    warmup = folder / "assets.extra/tf_serving_warmup_requests"
    write_warmup(warmup, ["1"] * 1001)
    with pytest.raises(ServingError, match="exceeds the maximum"):
        Servable("toy", 1, folder)
    with tf.io.TFRecordWriter(str(warmup)) as writer:
        writer.write(b"\xff\xff")
    with pytest.raises(ServingError, match="warmup record 1 "):
        Servable("toy", 1, folder)
    with tf.io.TFRecordWriter(str(warmup)) as writer:
        writer.write(b"")
    with pytest.raises(ServingError, match="Unsupported log_type"):
        Servable("toy", 1, folder)
