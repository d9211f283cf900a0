"""A step of training: one graph, and Adam's update in one operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import NotImplementedType

import keras
import tensorflow as tf

from keras_transformer.compat import adam_moments
from keras_transformer.system.machine import give_back_memory


def adam_update(
    optimizer: keras.optimizers.Adam,
) -> (
    Callable[[tf.Tensor, keras.Variable, tf.Tensor], None] | NotImplementedType
):
    """Adam's updates of a step, one operation for each variable.

    Keras' update is seven passes over memory, this is one. Values that all
    variables share are computed once: the graph of a model with hundreds of
    variables has thousands of nodes less.
    """
    if optimizer.amsgrad:
        return NotImplemented
    step = tf.cast(optimizer.iterations + 1, tf.float32)
    beta_1 = tf.constant(optimizer.beta_1)
    beta_2 = tf.constant(optimizer.beta_2)
    step_scalars = {
        "beta1_power": beta_1**step,
        "beta2_power": beta_2**step,
        "beta1": beta_1,
        "beta2": beta_2,
        "epsilon": tf.constant(optimizer.epsilon),
    }

    def update(gradient, variable, learning_rate):
        dtype = variable.dtype
        if dtype == "bfloat16":
            # Adam's 0.999 is 1 in bfloat16: this would divide by epsilon.
            keras.optimizers.Adam.update_step(
                optimizer, gradient, variable, learning_rate
            )
            return
        scalars = {k: tf.cast(v, dtype) for k, v in step_scalars.items()}
        momentum, velocity = adam_moments(optimizer, variable)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=momentum.value.handle,
            v=velocity.value.handle,
            lr=tf.cast(learning_rate, dtype),
            grad=tf.cast(gradient, dtype),
            **scalars,
        )

    return update


def train_function(
    model: keras.Model, function: Callable[[Iterator], dict]
) -> Callable[[Iterator], dict] | NotImplementedType:
    """A training step as a single graph.

    Keras nests the graph of a step in others. TensorFlow keeps all of them and
    an optimised copy of each: for a Transformer, 140 MiB and seconds of tracing
    more than the single graph that is enough here. Keras' own function still
    runs with XLA, eager steps, several steps in one call, a distribution
    strategy or optional inputs.
    """
    several = model.steps_per_execution != 1
    if model.jit_compile or model.run_eagerly or several:
        return NotImplemented

    @tf.function(reduce_retracing=True, autograph=False)
    def step(iterator):
        return model.train_step(iterator.get_next())

    def one_step(iterator):
        # Iterators of a distribution strategy are of another class.
        plain = isinstance(iterator, tf.data.Iterator) and not any(
            isinstance(spec, tf.OptionalSpec)
            for spec in tf.nest.flatten(iterator.element_spec)
        )
        if not plain:
            return function(iterator)
        graphs = step.experimental_get_tracing_count()
        logs = step(iterator)
        if step.experimental_get_tracing_count() > graphs:
            give_back_memory()
        return logs

    return one_step
