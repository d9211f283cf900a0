"""Private attributes of Keras and TensorFlow that the package reads.

A failure here names what has moved in a new version; `compat` says what
breaks with it.
"""

import keras
import numpy as np

from keras_transformer import compat


def test_kernel_variable_is_the_kernel():
    layer = keras.layers.Dense(3)
    layer.build((None, 2))
    assert compat.kernel_variable(layer) is layer.weights[0]


def test_embeddings_variable_is_the_matrix():
    layer = keras.layers.ReversibleEmbedding(5, 3)
    layer.build()
    assert compat.embeddings_variable(layer) is layer.weights[0]


def test_adam_moments_are_the_slots_of_the_variable():
    variables = [keras.Variable(np.ones(n, "float32")) for n in (2, 3)]
    optimizer = keras.optimizers.Adam()
    optimizer.build(variables)
    moments = compat.adam_moments(optimizer, variables[1])
    assert [m.shape for m in moments] == [(3,), (3,)]
    assert moments[0].path.endswith("_momentum")
    assert moments[1].path.endswith("_velocity")


def test_moving_averages_are_of_the_trained_variables():
    variable = keras.Variable(np.ones(2, "float32"))
    optimizer = keras.optimizers.Adam(use_ema=True)
    optimizer.build([variable])
    ((trained, average),) = compat.moving_averages(optimizer)
    assert trained is variable and average.shape == (2,)


def test_compiled_metrics_are_those_given_even_before_they_are_built():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    metric = keras.metrics.MeanSquaredError()
    model.compile(
        "sgd", "mse", metrics=[metric, "mae"], weighted_metrics=["mape"]
    )
    assert compat.compiled_metrics(model) == [metric, "mae", "mape"]
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    assert compat.compiled_metrics(model) == []
