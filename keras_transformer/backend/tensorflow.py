"""Operations of a training step that TensorFlow has faster ways for.

Axes: B batch, T positions, V vocabulary.
"""

import tensorflow as tf


def dropout(inputs, rate: float, seed):
    """Zeros in a share of the places, the others scaled up.

    TensorFlow's own dropout draws a float of 32 bits for each number, this
    one 8 bits. So that the rate is exact all the same, the share of a call is
    drawn too: one of the two multiples of 1/256 beside `rate`, which is its
    mean.

    Args:
        inputs: float of any shape.
        rate: above 0, at most 255/256.
        seed: int `(2,)`.

    Returns:
        as `inputs`; the mean is that of `inputs`.
    """
    keep, scale = _kept(tf.shape(inputs), rate, seed)
    scale = tf.cast(scale, inputs.dtype)

    # Kept for the gradient as one byte a number, not as a factor.
    @tf.custom_gradient
    def apply(x):
        def gradient(upstream):
            return upstream * (tf.cast(keep, upstream.dtype) * scale)

        return x * (tf.cast(keep, x.dtype) * scale), gradient

    return apply(inputs)


def relu_dropout(inputs, rate: float, seed):
    """`dropout` of the rectified inputs, whose gradient needs the result only.

    Arguments and result as `dropout`.
    """
    keep, scale = _kept(tf.shape(inputs), rate, seed)
    scale = tf.cast(scale, inputs.dtype)

    @tf.custom_gradient
    def apply(x):
        result = tf.nn.relu(x) * (tf.cast(keep, x.dtype) * scale)

        def gradient(upstream):
            # Above 0 where the input was, and was kept.
            passed = tf.raw_ops.ReluGrad(gradients=upstream, features=result)
            return passed * scale

        return result, gradient

    return apply(inputs)


def _kept(shape, rate, seed):
    """Which places are kept, bool, and what they are scaled by, float32."""
    size = tf.reduce_prod(shape)
    key, counter = tf.raw_ops.StatelessRandomGetKeyCounter(seed=seed)
    words = tf.raw_ops.StatelessRandomUniformFullIntV2(
        shape=[(size + 7) // 8 + 1],
        key=key,
        counter=counter,
        alg=tf.random.Algorithm.PHILOX.value,
        dtype=tf.uint64,
    )
    low, rest = divmod(rate * 2**8, 1)
    # The last word decides between the two shares.
    more = tf.cast(words[-1] % 2**24, tf.float32) < rest * 2**24
    share = tf.minimum(tf.cast(more, tf.float32) + low, 255.0)
    bits = tf.reshape(tf.bitcast(words[:-1], tf.uint8), [-1])[:size]
    keep = tf.reshape(bits, shape) >= tf.cast(share, tf.uint8)
    return keep, 256 / (256 - share)


def layer_norm(inputs, gamma, beta, epsilon: float):
    """Layer normalisation over the last axis, with a gradient of few passes.

    Args:
        inputs: float32 `(..., D)`.
        gamma, beta: float32 `(D,)`.
        epsilon: added to the variance.

    Returns:
        float32 `(..., D)`.

    Reference: Ba et al. 2016, equation 4.
    """

    @tf.custom_gradient
    def normalize(x, gamma, beta):
        centred = x - _mean(x)
        inverse = tf.math.rsqrt(_mean(tf.square(centred)) + epsilon)
        normal = centred * inverse

        def gradient(upstream):
            scaled = upstream * gamma
            along = normal * _mean(scaled * normal)
            return (
                (scaled - _mean(scaled) - along) * inverse,
                tf.reduce_sum(upstream * normal, axis=0),
                tf.reduce_sum(upstream, axis=0),
            )

        return normal * gamma + beta, gradient

    # Read here: a custom gradient takes no variables.
    gamma, beta = tf.convert_to_tensor(gamma), tf.convert_to_tensor(beta)
    flat = tf.reshape(inputs, [-1, inputs.shape[-1]])
    return tf.reshape(normalize(flat, gamma, beta), tf.shape(inputs))


def _mean(x):
    return tf.reduce_mean(x, axis=-1, keepdims=True)


def smoothed_nll(labels, logits, from_label, to_all, padding_id):
    """`training.loss.smoothed_nll` with a gradient of three passes.

    TensorFlow's operation for the negative log-probability gives its gradient
    along; what differentiation would build for the rest is as large again,
    three times.
    """
    shape = tf.shape(labels)
    labels, flat = _flat(labels, logits)
    nll, difference = _nll(labels, flat)
    places = tf.stack([tf.range(tf.size(labels)), labels], axis=1)
    others = tf.cast(tf.range(flat.shape[-1]) != padding_id, tf.float32)

    @tf.custom_gradient
    def loss(flat):
        true = tf.gather_nd(flat, places)
        pulled = from_label * true - to_all * tf.linalg.matvec(flat, others)

        def gradient(upstream):
            found = (difference - to_all * others) * upstream[:, tf.newaxis]
            return tf.tensor_scatter_nd_add(
                found, places, from_label * upstream
            )

        return nll + pulled, gradient

    return tf.reshape(loss(flat), shape)


def token_nll(labels, logits):
    """`training.loss.token_nll`, computed once where loss and metrics ask.

    TensorFlow merges operations of a graph that are equal, inputs included.
    """
    return tf.reshape(_nll(*_flat(labels, logits))[0], tf.shape(labels))


def _flat(labels, logits):
    """int32 `(B * T,)` and float32 `(B * T, V)`."""
    return (
        tf.reshape(tf.cast(labels, tf.int32), [-1]),
        tf.reshape(tf.cast(logits, tf.float32), [-1, logits.shape[-1]]),
    )


def _nll(labels, flat):
    """The negative log-probabilities and their gradient by the logits."""
    return tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(
        features=flat, labels=labels
    )


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
    if (
        model.jit_compile
        or model.run_eagerly
        or model.steps_per_execution != 1
        or model.distribute_strategy.num_replicas_in_sync > 1
    ):
        return function

    @tf.function(reduce_retracing=True, autograph=False)
    def step(iterator):
        return model.train_step(iterator.get_next())

    def one_step(iterator):
        plain = isinstance(iterator, tf.data.Iterator) and not any(
            isinstance(spec, tf.OptionalSpec)
            for spec in tf.nest.flatten(iterator.element_spec)
        )
        return step(iterator) if plain else function(iterator)

    return one_step
