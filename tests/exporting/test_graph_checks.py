"""Graphs that no stock server can run, or that harm, are refused unrun."""

import re

import pytest
import tensorflow as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.client import pywrap_tf_session

from keras_transformer.contract import layout
from keras_transformer.exporting.verification.checks import CheckFailed
from keras_transformer.exporting.verification.graph_checks import (
    graph_is_readable,
    operations_are_allowed,
    refusal,
    signatures_are_batches,
    variables_are_stored_once,
)
from keras_transformer.exporting.verification.saved_model_checks import verify
from tests.exporting import small_export

# Arguments by which operations name files and machines, or may seem to.
NAMES = re.compile(
    "address|descriptor|dir|file|host|path|pattern|prefix|protocol|region|"
    "server|source|target|ur[il]"
)
# Types of arguments and of attributes that are text.
TEXT, TEXTS = tf.string.as_datatype_enum, ("string", "list(string)")
# What the last are: expressions, directions, names of counters and devices.
NO_FILES = re.compile(
    "(Cudnn|Regex|StaticRegex|TensorArrayGrad|RiscSort|Sharded|"
    "(Experimental)?SetStatsAggregator)"
)


def _write(path):
    with tf.control_dependencies([tf.io.write_file(path, "written")]):
        return tf.identity(1.0)


def _read_line(path):
    for line in tf.data.TextLineDataset([path]):
        tf.debugging.assert_equal(line, "x")
    return tf.constant(1.0)


def _save(path):
    saved = tf.raw_ops.SaveV2(
        prefix=path, tensor_names=["a"], shape_and_slices=[""], tensors=[1.0]
    )
    with tf.control_dependencies([saved]):
        return tf.identity(1.0)


def _restore(path):
    tensors = {"tensor_names": ["a"], "shape_and_slices": [""]}
    return tf.raw_ops.RestoreV2(prefix=path, dtypes=[tf.float32], **tensors)[0]


HARM = {
    "WriteFile": _write,
    "TextLineDataset": _read_line,
    "SaveV2": _save,
    "RestoreV2": _restore,
    "EagerPyFunc": lambda path: tf.py_function(lambda: 1.0, [], tf.float32),
    "PyFunc": lambda path: tf.ensure_shape(
        tf.numpy_function(lambda: 1.0, [], tf.float32), []
    ),
}


def saved(folder, harm, hidden=False):
    """A SavedModel that does harm, in a branch that is never taken or at once.

    It has a variable, so that it saves and restores something as well.
    """
    module = tf.Module()
    module.variable = tf.Variable(1.0)
    path = str(folder / "harm")

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32)])
    def serve(x):
        if hidden:
            return tf.cond(x > 1e9, lambda: harm(path), lambda: module.variable)
        return harm(path) + module.variable

    tf.saved_model.save(module, str(folder), signatures=serve)
    return graph_is_readable(folder)


@pytest.mark.parametrize("hidden", [False, True], ids=["plain", "hidden"])
@pytest.mark.parametrize("name", HARM)
def test_harm_is_refused(tmp_path, name, hidden):
    meta_graph = saved(tmp_path, HARM[name], hidden)
    with pytest.raises(CheckFailed, match=rf"\b{name} \((reaches|calls)"):
        operations_are_allowed(meta_graph)
    assert not (tmp_path / "harm").exists()


def registered():
    """All operations of this process, `OpDef`s."""
    buffer = pywrap_tf_session.TF_GetAllOpList()
    return op_def_pb2.OpList.FromString(
        pywrap_tf_session.TF_GetBuffer(buffer)
    ).op


def test_whatever_may_name_a_file_or_a_machine_is_refused():
    """Also what a later TensorFlow adds."""
    found = set()
    for operation in registered():
        names = [
            *(a.name for a in operation.input_arg if a.type == TEXT),
            *(a.name for a in operation.attr if a.type in TEXTS),
        ]
        if any(map(NAMES.search, names)) and not NO_FILES.match(operation.name):
            found.add(operation.name)
    assert {"WriteFile", "ImmutableConst", "DecodeProtoV2"} <= found
    assert [name for name in sorted(found) if refusal(name) is None] == []


REASONS = {
    None: (
        "HashTableV2 IteratorFromStringHandle MatMul SentencepieceTokenizeOp "
        "TFText>FastSentencepieceTokenize"
    ),
    "reaches files": (
        "CalibrationStatisticsSaver DatasetToTFRecord DecodeProtoV2 DumpTensor "
        "DeserializeIterator EncodeProto ExperimentalDatasetToTFRecord "
        "ExperimentalMatchingFilesDataset ImmutableConst ReaderReadV2 "
        "RecordInput Skipgram"
    ),
    "reaches other machines": "DataServiceDatasetV4 RpcCall _Recv",
    "ends the process": "Abort",
    "calls Python": "EagerPyFunc PyFuncStateless",
    "needs XLA": "XlaLaunch",
    "keeps state outside the checkpoint": "MutableHashTableV2",
    "not in TF Text 2.12": "TFText>RoundRobinTrim",
    "neither in TensorFlow nor in TF Text 2.12": "MyOwnOperation",
}


@pytest.mark.parametrize("reason", REASONS)
def test_operations_are_refused_for_a_reason(reason):
    names = REASONS[reason].split()
    assert {name: refusal(name) for name in names} == dict.fromkeys(
        names, reason
    )


def read(folder):
    return saved_model_pb2.SavedModel.FromString(
        (folder / layout.SAVED_MODEL).read_bytes()
    )


@pytest.mark.parametrize(
    "tags", [[], ["serve", "gpu"], ["serve"]], ids=["none", "more", "same"]
)
def test_a_second_graph_is_refused(tmp_path, tags):
    """Loaders take the one whose tags are all that they ask for."""
    saved(tmp_path / "harmless", lambda path: tf.constant(1.0))
    both = read(tmp_path / "harmless")
    both.meta_graphs[0].meta_info_def.tags[:] = tags
    saved(tmp_path / "harmful", _write)
    both.MergeFrom(read(tmp_path / "harmful"))
    path = tmp_path / "harmless" / layout.SAVED_MODEL
    path.write_bytes(both.SerializeToString())
    with pytest.raises(CheckFailed, match="one graph"):
        graph_is_readable(tmp_path / "harmless")


@pytest.mark.parametrize("key", ["saved_model_main_op", "legacy_init_op"])
def test_what_loading_runs_may_not_save(tmp_path, key):
    """Even if it is named as what saves the variables."""
    meta_graph = saved(tmp_path, lambda path: tf.constant(1.0))
    with tf.Graph().as_default() as graph:
        tf.raw_ops.SaveV2(
            prefix=tf.constant("harm", name="harm/prefix"),
            tensor_names=tf.constant(["a"], name="harm/names"),
            shape_and_slices=tf.constant([""], name="harm/slices"),
            tensors=[tf.constant(1.0, name="harm/tensor")],
            name="harm/save",
        )
    meta_graph.graph_def.MergeFrom(graph.as_graph_def())
    saver = meta_graph.saver_def
    both = meta_graph.graph_def.node.add(name="both", op="Identity")
    both.input.extend([saver.save_tensor_name, "^harm/save"])
    saver.save_tensor_name = "both:0"
    assert operations_are_allowed(meta_graph)
    meta_graph.collection_def[key].node_list.value[:] = ["harm/save"]
    with pytest.raises(CheckFailed, match=r"SaveV2 \(reaches files\)"):
        operations_are_allowed(meta_graph)


def test_a_graph_that_is_larger_than_any_is_not_read(tmp_path):
    with (tmp_path / layout.SAVED_MODEL).open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(CheckFailed, match="too large. Accepted"):
        graph_is_readable(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        # The restore operation, which loading runs, saves as well.
        lambda saver: setattr(
            saver, "restore_op_name", saver.save_tensor_name.partition(":")[0]
        ),
        # Nothing says what saves.
        lambda saver: saver.Clear(),
    ],
    ids=["loading saves", "no saver"],
)
def test_only_the_saver_may_save(tmp_path, change):
    meta_graph = saved(tmp_path, lambda path: tf.constant(1.0))
    change(meta_graph.saver_def)
    with pytest.raises(CheckFailed, match=r"SaveV2 \(reaches files\)"):
        operations_are_allowed(meta_graph)


def test_many_operations_are_told_shortly(tmp_path):
    meta_graph = saved(tmp_path, lambda path: tf.constant(1.0))
    for number in range(50):
        node = meta_graph.graph_def.node.add()
        node.name, node.op = f"n{number}", f"Unknown{number}" + "x" * 10_000
    with pytest.raises(CheckFailed, match="and 42 more") as raised:
        operations_are_allowed(meta_graph)
    assert len(str(raised.value)) < 1200


def test_what_is_refused_is_not_run(tmp_path):
    harm = tmp_path / "harm"

    def writing(outputs):
        with tf.control_dependencies([tf.io.write_file(str(harm), "x")]):
            return {**outputs, "score": tf.identity(outputs["score"])}

    *_, last = verify(small_export.write(tmp_path / "1", writing))
    assert (last.name, last.passed) == ("operations_are_allowed", False)
    assert last.detail == "WriteFile (reaches files)"
    assert not harm.exists()


def test_weights_stored_twice_are_refused(tmp_path):
    small_export.save(tmp_path, copy=tf.Variable(0.0))
    graph = graph_is_readable(tmp_path)
    with pytest.raises(CheckFailed, match="2 in the checkpoint, 1 used"):
        variables_are_stored_once(tmp_path, graph, {"variables": 1})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda out: {"translation": out["translation"]}, "outputs are"),
        (lambda out: {**out, "score": out["score"][0]}, "has shape"),
        (
            lambda out: {**out, "score": tf.cast(out["score"], tf.float64)},
            "float64",
        ),
        (
            lambda out: {**out, "truncated": tf.fill([1, 1], False)},
            "'truncated' has shape",
        ),
    ],
    ids=["missing", "scalar", "type", "rank"],
)
def test_signature_that_cannot_be_batched_is_refused(tmp_path, change, message):
    small_export.save(tmp_path, change)
    with pytest.raises(CheckFailed, match=message):
        signatures_are_batches(graph_is_readable(tmp_path))


def test_missing_signature_is_refused(tmp_path):
    small_export.save(tmp_path)
    graph = graph_is_readable(tmp_path)
    assert signatures_are_batches(graph)
    del graph.signature_def[layout.GREEDY]
    with pytest.raises(CheckFailed, match="no signature 'greedy'"):
        signatures_are_batches(graph)
