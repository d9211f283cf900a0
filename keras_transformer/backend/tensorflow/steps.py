"""A step of training: one graph, and Adam's update in one operation."""

import tensorflow as tf


def adam_update(
    variable,
    momentum,
    velocity,
    gradient,
    learning_rate,
    iterations,
    beta_1,
    beta_2,
    epsilon,
):
    """Adam's update of a `tf.Variable` and its slots, in one operation."""
    dtype = variable.dtype
    step = tf.cast(iterations + 1, dtype)
    beta_1, beta_2 = tf.cast(beta_1, dtype), tf.cast(beta_2, dtype)
    tf.raw_ops.ResourceApplyAdam(
        var=variable.handle,
        m=momentum.handle,
        v=velocity.handle,
        beta1_power=beta_1**step,
        beta2_power=beta_2**step,
        lr=tf.cast(learning_rate, dtype),
        beta1=beta_1,
        beta2=beta_2,
        epsilon=tf.cast(epsilon, dtype),
        grad=tf.cast(gradient, dtype),
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
        return step(iterator) if plain else function(iterator)

    return one_step
