import pytest

from keras_transformer.export.verification.operations import (
    LATER_TEXT_OPERATIONS,
    TEXT_OPERATIONS,
    refusal,
)


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


def test_text_operations_are_those_of_the_old_server():
    import tensorflow_text  # noqa: F401
    from tensorflow.python.framework import op_def_registry

    assert len(TEXT_OPERATIONS) == 35
    assert not TEXT_OPERATIONS & LATER_TEXT_OPERATIONS
    for name in TEXT_OPERATIONS | LATER_TEXT_OPERATIONS:
        assert op_def_registry.get(name) is not None, name
