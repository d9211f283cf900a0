import pytest
import tensorflow as tf

from keras_transformer.contract import layout
from keras_transformer.exporting.verification.checks import CheckFailed
from keras_transformer.exporting.verification.graph_checks import (
    graph_is_readable,
    nothing_must_be_compiled,
    operations_are_allowed,
    refusal,
    signatures_are_batches,
    variables_are_stored_once,
)
from keras_transformer.system.files import read_json
from tests.exporting import broken
from tests.exporting.broken import all_changed


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        ("MatMul", None),
        ("HashTableV2", None),
        ("SentencepieceTokenizeOp", None),
        ("TFText>FastSentencepieceTokenize", None),
        ("TFText>RoundRobinTrim", "not in TF Text 2.12"),
        ("EagerPyFunc", "calls Python"),
        ("PyFuncStateless", "calls Python"),
        ("XlaLaunch", "needs XLA"),
        ("MutableHashTableV2", "keeps state outside the checkpoint"),
        ("MyOwnOperation", "neither in TensorFlow nor in TF Text 2.12"),
    ],
)
def test_refusal(operation, reason):
    assert refusal(operation) == reason


@pytest.fixture
def save(served, report, tmp_path):
    """Saves what is broken in one way beside the whole export's extras."""

    def save(functions, **attributes):
        return broken.save(served, report, tmp_path, functions, **attributes)

    return save


def _python(outputs):
    score = tf.numpy_function(lambda x: x, [outputs["score"]], tf.float32)
    return {**outputs, "score": tf.ensure_shape(score, [None])}


def test_weights_stored_twice_are_refused(served, save, report):
    copies = [tf.Variable(value) for value in served.module.weights]
    folder = save(served.functions, copies=copies)
    count = served.variable_count
    reference = read_json(report.path / layout.REFERENCE)
    with pytest.raises(CheckFailed, match=f"{2 * count} in the checkpoint"):
        variables_are_stored_once(folder, graph_is_readable(folder), reference)


def test_python_in_the_graph_is_refused(served, save):
    folder = save(all_changed(served, _python))
    with pytest.raises(CheckFailed, match=r"PyFunc \(calls Python\)"):
        operations_are_allowed(graph_is_readable(folder))


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
def test_signature_that_cannot_be_batched_is_refused(
    served, save, change, message
):
    folder = save(all_changed(served, change))
    with pytest.raises(CheckFailed, match=message):
        signatures_are_batches(graph_is_readable(folder))


def test_missing_signature_is_refused(served, save):
    only = {"serving_default": served.functions["serving_default"]}
    folder = save(only)
    meta_graph = graph_is_readable(folder)
    assert nothing_must_be_compiled(meta_graph)
    with pytest.raises(CheckFailed, match="no signature 'greedy'"):
        signatures_are_batches(meta_graph)
