"""A step of training: one graph, and Adam's update in one operation."""

import tensorflow as tf

from keras_transformer.machine import give_back_memory


class AdamStep:
    """Adam's updates of a step, one operation for each variable.

    What all variables share is computed once: the graph of a model with
    hundreds of variables has thousands of nodes less.

    Args:
        iterations: updates so far, int.
        beta_1, beta_2, epsilon: floats, of the algorithm.
    """

    def __init__(self, iterations, beta_1, beta_2, epsilon):
        step = tf.cast(iterations + 1, tf.float32)
        beta_1, beta_2 = tf.constant(beta_1), tf.constant(beta_2)
        self._shared = {
            "beta1_power": beta_1**step,
            "beta2_power": beta_2**step,
            "beta1": beta_1,
            "beta2": beta_2,
            "epsilon": tf.constant(epsilon),
        }

    def update(self, variable, momentum, velocity, gradient, learning_rate):
        """Updates a `tf.Variable` and its slots."""
        dtype = variable.dtype
        shared = {k: tf.cast(v, dtype) for k, v in self._shared.items()}
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=momentum.handle,
            v=velocity.handle,
            lr=tf.cast(learning_rate, dtype),
            grad=tf.cast(gradient, dtype),
            **shared,
        )


def train_function(model, function):
    """What a model calls for each step of `fit`.

    Keras wraps a step in a graph in a graph. TensorFlow keeps every one of
    them and a copy that it has optimised: of a Transformer, 140 MiB and
    seconds of tracing more than the one graph that is enough here.

    Args:
        model: compiled `keras.Model`.
        function: Keras' own for it.

    Returns:
        a callable of an iterator that returns the step's logs; Keras' where
        there is more to a step: XLA, eager steps, several in one call, a
        distribution strategy, optional inputs.
    """
    several = model.steps_per_execution != 1
    if model.jit_compile or model.run_eagerly or several:
        return function

    @tf.function(reduce_retracing=True, autograph=False)
    def step(iterator):
        return model.train_step(iterator.get_next())

    def one_step(iterator):
        # A strategy's iterators are of another class.
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
