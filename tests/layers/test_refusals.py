"""Masks, widths and tensors that layers and operations refuse."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer import ops
from keras_transformer.layers import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    MaskedPooling,
    MultiHeadAttention,
    PositionalEmbedding,
    causal_mask,
    decoder_mask,
    padding_mask,
    seen_source,
)

RNG = np.random.default_rng(1)
X = RNG.normal(size=(2, 4, 8)).astype("float32")
HEADS = RNG.normal(size=(2, 2, 4, 4)).astype("float32")
KEEP = np.tril(np.ones((1, 4, 4), bool))
TOKENS = np.array([[1, 1, 1, 0], [1, 0, 0, 0]], bool)


def attention(**masks):
    return MultiHeadAttention(2, 8)(X, X, **masks)


def encoder(**masks):
    return EncoderLayer(8, 2, 16)(X, **masks)


def decoder(**masks):
    return DecoderLayer(8, 2, 16)(X, X, **masks)


def method(kind, name, *inputs):
    def call(**masks):
        layer = kind(8, 2, 16) if kind is not MultiHeadAttention else kind(2, 8)
        layer(*[X] * (1 if kind is EncoderLayer else 2))
        return getattr(layer, name)(*inputs, **masks)

    return call


# Each place that takes a mask: its argument, and a mask of booleans.
MASKS = {
    "attention": (attention, "attention_mask", KEEP),
    "attention, values": (attention, "value_mask", TOKENS),
    "attention, keys": (attention, "key_mask", TOKENS),
    "attend": (
        method(MultiHeadAttention, "attend", X, HEADS, HEADS),
        "attention_mask",
        KEEP,
    ),
    "attention_weights": (
        method(MultiHeadAttention, "attention_weights", X, X),
        "attention_mask",
        KEEP,
    ),
    "encoder": (encoder, "attention_mask", KEEP),
    "encoder's weights": (
        method(EncoderLayer, "attention_weights", X),
        "attention_mask",
        KEEP,
    ),
    "decoder, itself": (decoder, "self_attention_mask", KEEP),
    "decoder, source": (decoder, "cross_attention_mask", KEEP),
    "decoder's weights": (
        method(DecoderLayer, "attention_weights", X, X),
        "cross_attention_mask",
        KEEP,
    ),
    "pooling": (lambda mask: MaskedPooling()(X, mask=mask), "mask", TOKENS),
    "operation": (
        lambda mask: ops.attention(HEADS, HEADS, HEADS, mask),
        "mask",
        KEEP,
    ),
    "operation, weights": (
        lambda mask: ops.attention_weights(HEADS, HEADS, mask),
        "mask",
        KEEP,
    ),
}


@pytest.mark.medium
@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize(
    "convert",
    [
        lambda mask: np.where(mask, 0.0, -np.inf).astype("float32"),
        lambda mask: mask.astype("float64"),
        lambda mask: tf.constant(np.where(mask, 0.0, -1e9), tf.bfloat16),
    ],
    ids=["0 and -inf", "1 and 0", "half precision"],
)
def test_a_mask_of_floats_is_refused(name, convert):
    call, argument, mask = MASKS[name]
    with pytest.raises(ValueError, match="mask is boolean, True keeps.*float"):
        call(**{argument: convert(mask)})


@pytest.mark.medium
@pytest.mark.parametrize("name", MASKS)
def test_a_mask_of_integers_is_one_of_booleans(name):
    call, argument, mask = MASKS[name]
    results = []
    for values in (mask, mask.astype("int64")):
        keras.utils.set_random_seed(1)  # The same weights.
        result = keras.tree.flatten(call(**{argument: values}))
        results.append([np.array(x) for x in result if x is not None])
    for booleans, integers in zip(*results, strict=True):
        np.testing.assert_array_equal(booleans, integers)


def test_a_symbolic_mask_of_floats_is_refused():
    x, mask = keras.Input((4, 8)), keras.Input((4, 4))
    model = keras.Model([x, mask], EncoderLayer(8, 2, 16)(x, mask))
    with pytest.raises(ValueError, match="mask is boolean"):
        model.predict([X, np.repeat(KEEP, 2, 0).astype("float32")], verbose=0)


def built(layer, *inputs, **options):
    layer(*inputs, **options)
    return layer


WIDE = np.ones((2, 4, 16), "float32")
WIDTHS = {
    "encoder": lambda: built(EncoderLayer(8, 2, 16), X)(WIDE),
    "decoder": lambda: built(DecoderLayer(8, 2, 16), X, X)(WIDE, X),
    "decoder's source": lambda: built(DecoderLayer(8, 2, 16), X, X)(X, WIDE),
    "decoder alone": lambda: built(
        DecoderLayer(8, 2, 16, cross_attention=False), X
    )(WIDE),
    "query": lambda: built(MultiHeadAttention(2, 8), X, X)(WIDE, X),
    "both": lambda: built(MultiHeadAttention(2, 8), X, X)(WIDE, WIDE),
    "value": lambda: built(MultiHeadAttention(2, 8), X, X)(X, WIDE),
    "key": lambda: built(MultiHeadAttention(2, 8), X, X)(X, X, key=WIDE),
    "projected": lambda: built(MultiHeadAttention(2, 8), X, X).project(WIDE),
    "attending": lambda: built(MultiHeadAttention(2, 8), X, X).attend(
        WIDE, HEADS, HEADS
    ),
    "weights": lambda: built(MultiHeadAttention(2, 8), X, X).attention_weights(
        X, WIDE
    ),
    "feedforward": lambda: built(FeedForward(16, 8), X)(WIDE),
    "output layer": lambda: built(PositionalEmbedding(9, 8), X, reverse=True)(
        WIDE, reverse=True
    ),
    "axes": lambda: built(EncoderLayer(8, 2, 16), X)(X[0]),
    # At the first call.
    "new encoder": lambda: EncoderLayer(8, 2, 16)(WIDE),
    "new decoder": lambda: DecoderLayer(8, 2, 16)(WIDE, X),
    "new attention": lambda: MultiHeadAttention(2, 8)(WIDE, X),
    "new output": lambda: PositionalEmbedding(9, 8)(WIDE, reverse=True),
}
MESSAGE = r"of width 8 takes \w+ of shape .*8\)\. Received: \("


@pytest.mark.parametrize("name", WIDTHS)
def test_another_width_is_refused(name):
    with pytest.raises(ValueError, match=MESSAGE):
        WIDTHS[name]()


@pytest.mark.parametrize(
    ("layer", "inputs", "name"),
    [
        (FeedForward(16, 8), (WIDE,), "inputs"),
        (MultiHeadAttention(2, 8), (X, WIDE), "value"),
        (MultiHeadAttention(2, 8), (X, X, WIDE), "key"),
        (DecoderLayer(8, 2, 16), (X, WIDE), "value"),
    ],
)
def test_inputs_keep_the_width_of_the_first_call(layer, inputs, name):
    assert layer(*inputs).shape == X.shape
    match = f"of width 16 takes {name} of shape"
    with pytest.raises(ValueError, match=match):
        layer(*inputs[:-1], X)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MultiHeadAttention(3, 8), "d_model=8, num_heads=3"),
        (lambda: EncoderLayer(8, 2, 16, norm="mid"), "or 'post'.*: 'mid'"),
        (lambda: MaskedPooling("sum"), "'mean' or 'max'. Received: 'sum'"),
        (
            lambda: PositionalEmbedding(9, 8, positions="rotary"),
            "positions must be.*'rotary'",
        ),
        (lambda: PositionalEmbedding(9, 7), "even. Received: 7"),
    ],
)
def test_wrong_arguments_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


SYMBOLIC = {
    "attention_weights": (MultiHeadAttention, "attention_weights", 2),
    "project": (MultiHeadAttention, "project", 1),
    "attend": (MultiHeadAttention, "attend", 3),
    "encoder": (EncoderLayer, "attention_weights", 1),
    "decoder": (DecoderLayer, "attention_weights", 2),
}


@pytest.mark.parametrize("name", SYMBOLIC)
def test_methods_refuse_tensors_without_values(name):
    kind, method, count = SYMBOLIC[name]
    layer = kind(2, 8) if kind is MultiHeadAttention else kind(8, 2, 16)
    layer(*[X] * (1 if kind is EncoderLayer else 2))
    inputs = [X, HEADS, HEADS] if method == "attend" else [X] * count
    getattr(layer, method)(*inputs)
    match = f"{method} takes tensors with values.*keras.Input"
    for index in range(count):
        given = [*inputs]
        given[index] = keras.Input(given[index].shape[1:])
        with pytest.raises(ValueError, match=match):
            getattr(layer, method)(*given)


@pytest.mark.parametrize(
    "function", [causal_mask, decoder_mask, padding_mask, seen_source]
)
@pytest.mark.parametrize("ids", [6, np.array([4, 5, 3]), np.ones((2, 3, 1))])
def test_masks_are_made_of_ids(function, ids):
    match = r"ids have the shape \(batch, length\). Received: "
    with pytest.raises(ValueError, match=match):
        function(ids)


@pytest.mark.parametrize(
    "function", [causal_mask, decoder_mask, padding_mask, seen_source]
)
def test_ids_may_be_lists(function):
    ids = [[4, 5, 3], [4, 3, 0]]
    np.testing.assert_array_equal(function(ids), function(np.array(ids)))
