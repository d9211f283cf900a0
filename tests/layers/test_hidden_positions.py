"""Neither the future nor padding reaches an output, or gets its gradients."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.layers import (
    DecoderLayer,
    EncoderLayer,
    MaskedPooling,
    MultiHeadAttention,
    PositionalEmbedding,
    decoder_mask,
    padding_mask,
)

RNG = np.random.default_rng(1)
X = RNG.normal(size=(2, 4, 8)).astype("float32")
SOURCE = RNG.normal(size=(2, 5, 8)).astype("float32")
IDS = np.array([[4, 5, 6, 7], [8, 0, 3, 0]])
WEIGHTS = RNG.normal(size=8).astype("float32")


def influence(function, length=4):
    """Whether output t has a gradient by input s, bool `(T, S)`."""
    x = tf.constant(X)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        outputs = tf.unstack(function(x), axis=1)
        # Weighted: a norm's outputs have a constant sum, of squares, too.
        sums = [tf.reduce_sum(y * WEIGHTS) for y in outputs]
    gradients = [tape.gradient(sums[t], x) for t in range(length)]
    return np.abs(np.array(gradients)).max(axis=(1, 3)) > 1e-6


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_the_causal_mask_is_joined_with_the_one_given(norm, training):
    """Without one, test_as_keras.py shows that the future is hidden."""
    layer = functools.partial(
        DecoderLayer(8, 2, 16, norm=norm),
        encoder_output=SOURCE,
        training=training,
    )
    keep = np.ones((1, 1, 4), bool)
    keep[..., 1] = False
    expected = np.tri(4, dtype=bool) & keep[0] | np.eye(4, dtype=bool)
    call = functools.partial(layer, self_attention_mask=keep)
    np.testing.assert_array_equal(influence(call), expected)
    x, mask = tf.constant(X), decoder_mask(IDS)
    joined = layer(x, self_attention_mask=padding_mask(IDS))
    for causal in (False, True):
        given = layer(x, self_attention_mask=mask, use_causal_mask=causal)
        np.testing.assert_array_equal(joined, given)


def test_a_decoder_layer_is_causal_in_a_graph_of_any_length(tmp_path):
    x = keras.Input((None, 8))
    layer = DecoderLayer(8, 2, 16, cross_attention=False)
    model = keras.Model(x, [layer(x), layer(x, use_causal_mask=False)])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    for length in (4, 2):
        causal, whole = loaded.predict(X[:, :length], verbose=0)
        np.testing.assert_allclose(causal, layer(X)[:, :length], atol=1e-5)
        assert np.abs(causal - whole)[:, 0].max() > 1e-3


def test_attention_weights_are_those_of_the_call():
    layer = DecoderLayer(8, 2, 16)
    layer(X, SOURCE)
    future = np.triu(np.ones((4, 4), bool), 1)
    to_itself, to_source = layer.attention_weights(X, SOURCE)
    assert np.array(to_itself)[..., future].max() == 0
    mask = decoder_mask(np.ones_like(IDS))
    given = layer.attention_weights(X, SOURCE, mask, use_causal_mask=False)
    np.testing.assert_array_equal(to_source, given[1])
    whole, other = layer.attention_weights(X, SOURCE, use_causal_mask=False)
    assert np.array(whole).min() > 0
    assert np.abs(np.array(other) - to_source).max() > 1e-5
    alone = DecoderLayer(8, 2, 16, cross_attention=False)
    assert alone.attention_weights(X)[1] is None
    # Padding that an embedding hides has none.
    hidden = alone.attention_weights(PositionalEmbedding(9, 8)(IDS))[0]
    assert np.array(hidden)[1, ..., [1, 3]].max() == 0


@pytest.mark.parametrize("length", [3, 4, 5])
def test_attention_is_causal_as_keras_own(length):
    ours = MultiHeadAttention(2, 8)
    theirs = keras.layers.MultiHeadAttention(2, 4)
    ours(X, SOURCE)
    theirs.build(X.shape, SOURCE.shape)
    theirs.set_weights(
        [
            w.numpy().reshape(t.shape)
            for w, t in zip(ours.weights, theirs.weights, strict=True)
        ]
    )
    value = SOURCE[:, :length]
    np.testing.assert_allclose(
        ours(X, value, use_causal_mask=True),
        theirs(X, value, use_causal_mask=True),
        atol=1e-5,
    )


# Layers after an embedding, which take `(B, T, 8)`.
AFTER = {
    "encoder": lambda: EncoderLayer(8, 2, 16),
    "two encoders": lambda: (
        lambda x: EncoderLayer(8, 2, 16)(EncoderLayer(8, 2, 16, norm="post")(x))
    ),
    "decoder": lambda: DecoderLayer(8, 2, 16, cross_attention=False),
    "source": lambda: lambda x: DecoderLayer(8, 2, 16)(tf.constant(X), x),
    "pooling": MaskedPooling,
    "Keras' attention": lambda: (
        lambda x: keras.layers.MultiHeadAttention(2, 4)(x, x)
    ),
    "Keras' recurrence": lambda: keras.layers.GRU(8),
    "Keras' mean": keras.layers.GlobalAveragePooling1D,
}


def padding_gradient(after, **options):
    """The gradient of real positions by the embedding of padding."""
    keras.utils.set_random_seed(1)
    embedding = PositionalEmbedding(9, 8, **options)
    layer = AFTER[after]()
    with tf.GradientTape() as tape:
        y = layer(embedding(IDS))
        if len(y.shape) == 3 and after != "source":
            y = y[IDS != 0]
        loss = tf.reduce_sum(y * WEIGHTS)
    gradient = tape.gradient(loss, embedding.trainable_variables[0].value)
    return np.abs(tf.convert_to_tensor(gradient).numpy()[0]).max()


@pytest.mark.parametrize("after", AFTER)
def test_padding_hides_itself(after):
    assert padding_gradient(after) == 0
    assert padding_gradient(after, mask_zero=False) > 1e-6


def pooled(length, dtype):
    """A model from ids to a mean of what a decoder layer makes of them."""
    ids = keras.Input((length,), dtype=dtype)
    x = EncoderLayer(8, 2, 16)(PositionalEmbedding(9, 8)(ids))
    y = DecoderLayer(8, 2, 16)(PositionalEmbedding(9, 8)(ids), x)
    y = keras.layers.Dense(4)(y)
    return keras.Model(ids, keras.layers.GlobalAveragePooling1D()(y))


@pytest.mark.parametrize(
    ("dtype", "length"),
    # 8 is the width, too.
    [("int32", None), ("uint8", 8), ("float32", None), ("float32", 8)],
)
def test_a_model_hides_padding(dtype, length, tmp_path):
    model, short = pooled(length, dtype), pooled(2, dtype)
    short.set_weights(model.get_weights())
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    padded = np.pad([[4, 5, 6, 7], [8, 3, 0, 0]], [[0, 0], [0, 4]])
    alone = short(padded[1:, :2].astype(dtype))
    for one in (model, loaded):
        means = one.predict(padded.astype(dtype), verbose=0)
        np.testing.assert_allclose(means[1:], alone, atol=1e-5)


def test_the_mask_is_that_of_ids():
    layer = PositionalEmbedding(9, 8)
    np.testing.assert_array_equal(layer.compute_mask(IDS), IDS != 0)
    np.testing.assert_array_equal(layer(IDS)._keras_mask, IDS != 0)
    # Features keep theirs, whatever their shape.
    features = layer(IDS)
    scores = layer(features, reverse=True)
    np.testing.assert_array_equal(scores._keras_mask, IDS != 0)
    rows = layer(tf.zeros((3, 8)), reverse=True)
    assert getattr(rows, "_keras_mask", None) is None
    unmasked = PositionalEmbedding(9, 8, mask_zero=False)
    assert getattr(unmasked(IDS), "_keras_mask", None) is None
    assert unmasked.compute_mask(IDS) is None
