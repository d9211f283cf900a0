"""What must be true of every layer."""

import functools
import json

import keras
import numpy as np

from keras_transformer.layers import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    MultiHeadAttention,
    PositionalEmbedding,
)

X = np.random.default_rng(1).normal(size=(2, 4, 8)).astype("float32")
IDS = np.array([[4, 5, 6, 3], [4, 3, 0, 0]], "int32")
# Those with kernels: what makes one, and the inputs that it takes.
LAYERS = {
    "attention": (functools.partial(MultiHeadAttention, 2, 8), (X, X)),
    "feedforward": (functools.partial(FeedForward, 16, 8), (X,)),
    "encoder": (functools.partial(EncoderLayer, 8, 2, 16), (X,)),
    "post-norm encoder": (
        functools.partial(EncoderLayer, 8, 2, 16, norm="post"),
        (X,),
    ),
    "decoder": (functools.partial(DecoderLayer, 8, 2, 16), (X, X)),
    "decoder alone": (
        functools.partial(DecoderLayer, 8, 2, 16, cross_attention=False),
        (X,),
    ),
}
EMBEDDING = functools.partial(
    PositionalEmbedding,
    *(9, 8, 7),
    positions="learned",
    output_bias=True,
    first_position=2,
    mask_zero=False,
)
ALL_LAYERS = {**LAYERS, "embedding": (EMBEDDING, (IDS,))}


def model_of(layer, inputs):
    """A model of one layer, all of whose inputs are the same."""
    one = inputs[0]
    x = keras.Input((None, *one.shape[2:]), dtype=str(one.dtype))
    return keras.Model(x, layer(*[x] * len(inputs)))


def check_layer(make, inputs, weight_count, seed_count):
    """Runs the checks that all layers share.

    Args:
        make: callable that returns a new layer for a `dtype`.
        inputs: dict of arrays, the call's arguments by name.
        weight_count: expected number of trainable weights.
        seed_count: expected number of random generators (dropouts).
    """
    layer = make(dtype="float32")
    output = layer(**inputs)
    assert len(layer.trainable_weights) == weight_count
    assert len(layer.variables) - len(layer.weights) == seed_count
    _check_config(layer)
    _check_symbolic(make(dtype="float32"), inputs, output)
    _check_saving(layer, inputs, output)
    for policy in ("mixed_float16", "mixed_bfloat16"):
        _check_precision(make(dtype=policy), policy, inputs)


def _check_config(layer):
    config = layer.get_config()
    assert json.loads(json.dumps(config)) is not None
    revived = type(layer).from_config(config)
    assert revived.get_config() == config


def _check_symbolic(layer, inputs, output):
    symbolic = layer(
        **{
            name: keras.KerasTensor((None, *x.shape[1:]), dtype=str(x.dtype))
            for name, x in inputs.items()
        }
    )
    assert symbolic.shape[1:] == tuple(output.shape[1:])
    assert symbolic.dtype == output.dtype.name


def _check_saving(layer, inputs, output):
    tensors = {
        name: keras.Input(x.shape[1:], dtype=str(x.dtype), name=name)
        for name, x in inputs.items()
    }
    model = keras.Model(tensors, layer(**tensors))
    revived = keras.Model.from_config(model.get_config())
    revived.set_weights(model.get_weights())
    np.testing.assert_allclose(revived(inputs), output, atol=1e-6)


def _check_precision(layer, policy, inputs):
    output = layer(**inputs)
    assert keras.backend.standardize_dtype(output.dtype) == policy[6:]
    assert np.isfinite(np.array(keras.ops.cast(output, "float32"))).all()
    assert all(w.dtype == "float32" for w in layer.trainable_weights)


def check_gradients(layer, inputs):
    """One compiled step: every weight gets a finite gradient, not all 0."""
    import tensorflow as tf

    @tf.function(autograph=False)
    def gradients():
        with tf.GradientTape() as tape:
            output = layer(**inputs, training=True)
            weights = tf.random.stateless_normal(output.shape, [1, 2])
            loss = tf.reduce_sum(tf.cast(output, tf.float32) * weights)
        variables = [w.value for w in layer.trainable_weights]
        return tape.gradient(loss, variables)

    layer(**inputs)
    for weight, gradient in zip(
        layer.trainable_weights, gradients(), strict=True
    ):
        values = tf.convert_to_tensor(gradient).numpy()
        assert np.isfinite(values).all(), weight.path
        # A key's bias shifts all scores of a query alike: no gradient.
        if not weight.path.endswith("key/bias"):
            assert np.abs(values).max() > 0, weight.path
