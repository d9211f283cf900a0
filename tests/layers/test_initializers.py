"""What weights start from, and layers that keep all that they were given."""

import keras
import numpy as np
import pytest

from keras_transformer.layers import PositionalEmbedding
from tests.layers.checks import ALL_LAYERS, LAYERS, model_of
from tests.layers.test_frozen import saved


def weights(layer, ending):
    return [w.numpy() for w in layer.weights if w.path.endswith(ending)]


@pytest.mark.parametrize("name", LAYERS)
def test_kernels_and_biases_start_as_they_are_told(name):
    make, inputs = LAYERS[name]
    normal = keras.initializers.RandomNormal(stddev=3.0)
    layer = make(kernel_initializer=normal, bias_initializer="ones")
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
    default = make()
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
    make, inputs = LAYERS[name]
    layer = make(kernel_initializer=ones, bias_initializer=ones)
    layer(*inputs)
    for weight in weights(layer, ("/kernel", "/bias")):
        np.testing.assert_array_equal(weight, 1.0)


def test_embeddings_may_start_from_a_function():
    layer = PositionalEmbedding(9, 8, embeddings_initializer=ones)
    layer.build()
    np.testing.assert_array_equal(layer.get_weights()[0], 1.0)


@pytest.mark.parametrize("name", ALL_LAYERS)
def test_a_layer_keeps_its_arguments(name, tmp_path):
    make, inputs = ALL_LAYERS[name]
    options = {}
    if name in LAYERS:
        options["kernel_initializer"] = keras.initializers.HeNormal()
        options["bias_initializer"] = keras.initializers.Constant(2.0)
    layer = make(**options)
    model = model_of(layer, inputs)
    revived = saved(model, tmp_path)
    assert revived.layers[-1].get_config() == layer.get_config()
    x = inputs[0]
    np.testing.assert_allclose(revived(x), model(x), atol=1e-6)
