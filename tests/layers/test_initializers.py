"""What weights start from, and layers that keep all that they were given."""

import keras
import numpy as np
import pytest

from keras_transformer.layers import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    MultiHeadAttention,
    PositionalEmbedding,
)
from tests.layers.test_frozen import REVIVALS

X = np.ones((2, 4, 8), "float32")
IDS = np.array([[4, 5, 6, 3], [4, 3, 0, 0]])
SIZES = {"d_model": 8, "num_heads": 2, "d_ff": 16}
LAYERS = {
    "attention": (MultiHeadAttention, {"num_heads": 2, "d_model": 8}, (X, X)),
    "feedforward": (FeedForward, {"d_ff": 16, "d_model": 8}, (X,)),
    "encoder": (EncoderLayer, {**SIZES, "norm": "post"}, (X,)),
    "decoder": (DecoderLayer, SIZES, (X, X)),
    "decoder alone": (DecoderLayer, {**SIZES, "cross_attention": False}, (X,)),
}


def weights(layer, ending):
    return [w.numpy() for w in layer.weights if w.path.endswith(ending)]


@pytest.mark.parametrize("name", LAYERS)
def test_kernels_and_biases_start_as_they_are_told(name):
    make, options, inputs = LAYERS[name]
    normal = keras.initializers.RandomNormal(stddev=3.0)
    layer = make(**options, kernel_initializer=normal, bias_initializer="ones")
    layer(*inputs)
    kernels, biases = (weights(layer, f"/{x}") for x in ("kernel", "bias"))
    assert len(kernels) == len(biases) > 1
    for bias in biases:
        np.testing.assert_array_equal(bias, 1.0)
    for index, kernel in enumerate(kernels):
        assert kernel.std() == pytest.approx(3.0, rel=0.4)
        # One object, and no two alike.
        for other in kernels[:index]:
            assert kernel.shape != other.shape or (kernel != other).all()
    default = make(**options)
    default(*inputs)
    for kernel in weights(default, "/kernel"):
        limit = np.sqrt(6 / sum(kernel.shape))  # Glorot and Bengio 2010
        assert 0.8 * limit < np.abs(kernel).max() <= limit
    for bias in weights(default, "/bias"):
        np.testing.assert_array_equal(bias, 0.0)


def ones(shape, dtype=None):
    """An initializer that is a function."""
    return keras.ops.ones(shape, dtype)


@pytest.mark.parametrize("name", LAYERS)
def test_initializers_may_be_functions(name):
    make, options, inputs = LAYERS[name]
    layer = make(**options, kernel_initializer=ones, bias_initializer=ones)
    layer(*inputs)
    for weight in weights(layer, ("/kernel", "/bias")):
        np.testing.assert_array_equal(weight, 1.0)


def test_embeddings_may_start_from_a_function():
    layer = PositionalEmbedding(9, 8, embeddings_initializer=ones)
    layer.build()
    np.testing.assert_array_equal(layer.get_weights()[0], 1.0)


@pytest.mark.parametrize("revive", REVIVALS.values(), ids=REVIVALS)
@pytest.mark.parametrize("name", [*LAYERS, "embedding"])
def test_a_layer_keeps_its_arguments(name, revive, tmp_path):
    if name == "embedding":
        layer = PositionalEmbedding(
            9, 8, max_length=7, first_position=2, mask_zero=False
        )
        x, count = keras.Input((None,), dtype="int32"), 1
    else:
        make, options, inputs = LAYERS[name]
        x, count = keras.Input((None, 8)), len(inputs)
        layer = make(
            **options,
            kernel_initializer=keras.initializers.HeNormal(),
            bias_initializer=keras.initializers.Constant(2.0),
        )
    model = keras.Model(x, layer(*[x] * count))
    revived = revive(model, tmp_path)
    assert revived.layers[-1].get_config() == layer.get_config()
    revived.set_weights(model.get_weights())
    inputs = IDS if name == "embedding" else X
    np.testing.assert_allclose(revived(inputs), model(inputs), atol=1e-6)
