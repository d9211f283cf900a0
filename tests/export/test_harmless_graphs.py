"""Models that reach files or other machines are refused before they run."""

import pytest
import tensorflow as tf

from keras_transformer.export.verification.checks import CheckFailed
from keras_transformer.export.verification.graph_checks import (
    graph_is_readable,
    operations_are_allowed,
    refusal,
)
from keras_transformer.export.verify import verify
from tests.export.broken import all_changed, save


def _write(path):
    with tf.control_dependencies([tf.io.write_file(path, "written")]):
        return tf.identity(1.0)


def _read_line(path):
    for line in tf.data.TextLineDataset([path]):
        tf.debugging.assert_equal(line, "x")
    return tf.constant(1.0)


def _print(path):
    with tf.control_dependencies(
        [tf.raw_ops.PrintV2(input="x", output_stream=f"file://{path}")]
    ):
        return tf.identity(1.0)


def _save(path):
    saved = tf.raw_ops.SaveV2(
        prefix=path, tensor_names=["a"], shape_and_slices=[""], tensors=[1.0]
    )
    with tf.control_dependencies([saved]):
        return tf.identity(1.0)


def _restore(path):
    return tf.raw_ops.RestoreV2(
        prefix=path,
        tensor_names=["a"],
        shape_and_slices=[""],
        dtypes=[tf.float32],
    )[0]


HARM = {
    "WriteFile": _write,
    "ReadFile": lambda path: tf.strings.to_number(tf.io.read_file(path)),
    "MatchingFiles": lambda path: tf.cast(
        tf.size(tf.io.matching_files(path)), tf.float32
    ),
    "TextLineDataset": _read_line,
    "PrintV2": _print,
    "SaveV2": _save,
    "RestoreV2": _restore,
    "EagerPyFunc": lambda path: tf.py_function(lambda: 1.0, [], tf.float32),
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
        operations_are_allowed(tmp_path, meta_graph, {})
    assert not (tmp_path / "harm").exists()


def test_saving_and_restoring_variables_is_allowed(tmp_path):
    meta_graph = saved(tmp_path, lambda path: tf.constant(1.0))
    names = {
        node.op
        for function in meta_graph.graph_def.library.function
        for node in function.node_def
    }
    assert {"SaveV2", "RestoreV2", "MergeV2Checkpoints"} <= names
    assert operations_are_allowed(tmp_path, meta_graph, {})


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
        operations_are_allowed(tmp_path, meta_graph, {})


def test_other_machines_and_many_operations_are_told_shortly(tmp_path):
    assert refusal("RpcCall") == refusal("_Recv") == "reaches other machines"
    assert refusal("DataServiceDatasetV4") == "reaches other machines"
    assert refusal("Abort") == "ends the process"
    meta_graph = saved(tmp_path, lambda path: tf.constant(1.0))
    for number in range(50):
        node = meta_graph.graph_def.node.add()
        node.name, node.op = f"n{number}", f"Unknown{number}" + "x" * 10_000
    with pytest.raises(CheckFailed, match="and 42 more") as raised:
        operations_are_allowed(tmp_path, meta_graph, {})
    assert len(str(raised.value)) < 1200


def test_what_is_refused_is_not_run(served, report, tmp_path):
    harm = tmp_path / "harm"

    def writing(outputs):
        with tf.control_dependencies([tf.io.write_file(str(harm), "x")]):
            return {**outputs, "score": tf.identity(outputs["score"])}

    folder = save(
        served,
        report,
        tmp_path / "1",
        all_changed(served, writing),
        weights=served.module.weights,
    )
    results = verify(folder)
    assert not results[-1].passed
    assert results[-1].name == "operations_are_allowed"
    assert results[-1].detail == "WriteFile (reaches files)"
    assert not harm.exists()
