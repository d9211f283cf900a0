"""Fused weights, and the model one token at a time."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.constants import PAD_ID, START_ID
from keras_transformer.errors import InputError
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.models.attention_weights import attention_weights
from tests.toy_models import (
    VARIANTS,
    randomise,
    shared_transformer,
    small_transformer,
)

SOURCE = np.array([[2, 5, 7, 9, 11, 3], [2, 8, 3, 0, 0, 0]], np.int32)
# Two sentences of three beams.
TARGETS = np.array(
    [
        [[2, 4, 6, 8, 9], [2, 9, 1, 5, 5], [2, 7, 7, 7, 4]],
        [[2, 8, 8, 4, 1], [2, 5, 9, 6, 12], [2, 1, 13, 19, 18]],
    ],
    np.int32,
)


@functools.cache
def full_logits(variant, beam):
    """Of a full pass over `TARGETS` of a beam."""
    inputs = {"source_ids": SOURCE, "target_ids": TARGETS[:, beam]}
    return shared_transformer(variant)(inputs).numpy()


def stepped(functions, source, targets, capacity=None):
    """Logits of the tokens `(B, K, T)`, one by one."""
    length = targets.shape[2]
    cache = functions.start(
        tf.constant(source), targets.shape[1], capacity or length
    )
    logits = []
    for index in range(length):
        step = functions.step(tf.constant(targets[:, :, index]), cache, index)
        cache = step.cache
        logits.append(step.logits)
    return tf.stack(logits, axis=2)


def graph_of(functions):
    return tf.function(
        lambda: functions.predict(SOURCE, TARGETS[:, 0])[0], autograph=False
    )


def test_a_model_of_another_scope_is_read():
    with keras.name_scope("logits"):
        model = small_transformer()
    assert model.weights[0].path.startswith("logits/")
    logits, _ = IncrementalTransformer(model).predict(SOURCE, TARGETS[:, 0])
    inputs = {"source_ids": SOURCE, "target_ids": TARGETS[:, 0]}
    np.testing.assert_allclose(logits, model(inputs), atol=1e-4)


@pytest.mark.medium
@pytest.mark.parametrize("variant", VARIANTS)
def test_predict_equals_the_model_up_to_padding(variant):
    functions = IncrementalTransformer(shared_transformer(variant))
    targets = TARGETS[:, 0].copy()
    targets[1, 3:] = PAD_ID
    padded = np.pad(SOURCE, [[0, 0], [0, 2]])
    actual, attention = functions.predict(padded, targets)
    assert attention is None
    expected = full_logits(variant, 0)
    np.testing.assert_allclose(actual[0], expected[0], atol=1e-4)
    np.testing.assert_allclose(actual[1, :3], expected[1, :3], atol=1e-4)


@pytest.mark.parametrize(
    ("variant", "beam_size"),
    [*((name, 3) for name in VARIANTS), ("pre", 1), ("as OpenNMT's", 1)],
)
def test_step_by_step_equals_the_model(variant, beam_size):
    functions = IncrementalTransformer(shared_transformer(variant))
    targets = TARGETS[:, :beam_size]
    actual = stepped(functions, SOURCE, targets, capacity=7)
    for beam in range(beam_size):
        expected = full_logits(variant, beam)
        np.testing.assert_allclose(actual[:, beam], expected, atol=1e-4)


def test_a_guided_head_aligns_what_is_read():
    model = small_transformer(alignment_head=[2, 1])
    functions = IncrementalTransformer(model, align=True)
    expected = attention_weights(model, SOURCE, TARGETS[:, 0]).cross[2, :, 1]
    padded = TARGETS[:, 0].copy()
    padded[1, 3:] = PAD_ID
    _, aligned = functions.predict(SOURCE, padded)
    # To each label what the decoder attends to when it reads it.
    rows = [[1, 2, 3, 4, 4], [1, 2, 2]]
    for found, weights, row in zip(aligned, expected, rows, strict=True):
        np.testing.assert_allclose(found[: len(row)], weights[row], atol=1e-5)


@pytest.mark.parametrize(
    "variant", ["pre", "post", "as Marian's", "as OpenNMT's"]
)
def test_attention_is_that_of_the_last_layer_but_one(variant):
    model = shared_transformer(variant)
    functions = IncrementalTransformer(model, align=True)
    _, actual = functions.predict(SOURCE, TARGETS[:, 0])
    expected = attention_weights(model, SOURCE, TARGETS[:, 0]).cross[1]
    np.testing.assert_allclose(actual, expected.mean(axis=1), atol=1e-5)
    assert not actual[1, :, 3:].numpy().any()  # padding


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    "variant", ["pre", pytest.param("post, tied", marks=pytest.mark.slow)]
)
def test_refresh_takes_over_new_weights(variant, dtype):
    subject = small_transformer(variant, seed=2)
    functions = IncrementalTransformer(subject, dtype)
    predict = graph_of(functions)
    before = predict().numpy()
    randomise(subject, 3)
    np.testing.assert_array_equal(predict(), before)
    functions.refresh(subject)
    new = IncrementalTransformer(subject, dtype)
    np.testing.assert_allclose(predict(), graph_of(new)(), atol=1e-5)
    assert np.abs(predict().numpy() - before).max() > 0.1


@functools.cache
def cuts_bfloat16_off():
    """Whether a product of bfloat16 is cut off here, or else rounded.

    TensorFlow cuts off the lower 16 bits of a product of float32 on processors
    without instructions for bfloat16.
    """
    random = np.random.default_rng(0)
    a, b = (
        tf.cast(tf.constant(random.normal(size=(32, 32))), tf.bfloat16)
        for _ in range(2)
    )
    product = tf.cast(a @ b, tf.float32)
    exact = tf.cast(a, tf.float64) @ tf.cast(b, tf.float64)
    rounded = tf.cast(tf.cast(exact, tf.bfloat16), tf.float32)
    # Sums in another order round a few differently.
    if np.mean(product != rounded) < 0.05:
        return False
    bits = tf.bitcast(tf.cast(exact, tf.float32), tf.uint32)
    cut = tf.bitcast(tf.bitwise.bitwise_and(bits, 0xFFFF0000), tf.float32)
    assert np.mean(product != cut) < 0.05, "neither rounded nor cut off"
    return True


@pytest.mark.medium
@pytest.mark.parametrize("variant", VARIANTS)
def test_bfloat16_is_nearly_equal(variant):
    functions = IncrementalTransformer(shared_transformer(variant), "bfloat16")
    logits, _ = functions.predict(SOURCE, TARGETS[:, 0])
    assert logits.dtype == tf.float32
    expected = full_logits(variant, 0)
    # What is cut off is twice what rounding changes, and all towards 0. Where
    # no norm comes after the last sum, that makes 2.05 % instead of 0.76 %.
    wide = variant == "no final norm" and cuts_bfloat16_off()
    allowed = (0.03 if wide else 0.02) * np.abs(expected).mean()
    assert np.isfinite(logits).all()
    assert np.abs(logits.numpy() - expected).mean() < allowed
    actual = stepped(functions, SOURCE, TARGETS[:, :1])
    assert np.abs(actual[:, 0] - expected).mean() < allowed


@pytest.mark.parametrize(
    ("name", "change", "argument"),
    [
        ("self_attention/query", "quantize", "int8"),
        ("self_attention/query", "enable_lora", 2),
        ("source_embedding/tokens", "enable_lora", 2),
    ],
)
def test_quantized_weights_and_adapters_are_refused(name, change, argument):
    model = small_transformer()
    layer = next(
        layer
        for layer in model._flatten_layers()
        if (layer.path or "").endswith(name)
    )
    getattr(layer, change)(argument)
    with pytest.raises(InputError, match="weights of LoRA or quantized"):
        IncrementalTransformer(model)


def test_the_model_it_came_from_is_not_needed():
    functions = IncrementalTransformer(small_transformer(seed=5))
    keras.backend.clear_session()
    ids = np.full([2, 1], START_ID, np.int32)
    assert np.isfinite(functions.predict(SOURCE, ids)[0]).all()
    assert functions.max_length == 64
    assert functions.vocabulary_size == 20
