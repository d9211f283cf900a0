"""Operations for which backends may have their own kernels.

Callers don't choose between them. Each function here is the reference, in
`keras.ops`, which runs on every backend; `dispatch` has the table of kernels
that run instead, from `ops.tensorflow` and `ops.jax`. Kernels agree with the
reference except for rounding and, in dropout, for the random numbers.

Axes: B batch, T target positions (queries), S source positions (keys), D
width of inputs, E of outputs, H of a head, V vocabulary.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import keras
import numpy as np
from keras import ops

from keras_transformer.ops.dispatch import dispatched
from keras_transformer.tensors import Tensor


def refuse_float_mask(mask: Tensor | None) -> None:
    """Refuses a mask of floats, which might hide the keys that it should keep.

    Decided by the dtype alone, as a graph has no values: 0 and -inf as booleans
    are the opposite of what they are when added to scores.

    Raises:
        ValueError: the mask has a float dtype.
    """
    if mask is None:
        return
    dtype = keras.backend.standardize_dtype(mask.dtype)
    if "float" in dtype:
        raise ValueError(
            f"a mask is boolean, True keeps. Received: one of {dtype}. A mask "
            "of 0 and -inf, to be added to scores, becomes mask == 0; one of "
            "1 and 0 becomes mask == 1"
        )


@dispatched
def dense(
    inputs: Tensor,
    kernel: Tensor,
    bias: Tensor | None = None,
    transposed: bool = False,
    kernel_gradient: bool = False,
) -> Tensor:
    """A matrix product, with a bias if there is one.

    Args:
        inputs: float `(..., D)`.
        kernel: float `(D, E)`; `(E, D)` if `transposed`.
        bias: float `(E,)`, or None.
        transposed: bool.
        kernel_gradient: bool, whether the gradient of `kernel` will be needed.
            A backend may then order the backward pass.

    Returns:
        float `(..., E)`.
    """
    kernel = ops.transpose(kernel) if transposed else kernel
    outputs = ops.matmul(inputs, kernel)
    return outputs if bias is None else ops.add(outputs, bias)


@dispatched
def attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Tensor | None = None,
    rate: float = 0.0,
    seed_generator: keras.random.SeedGenerator | None = None,
    gradient: bool = False,
) -> Tensor:
    """Attention: a weighted mean of values, with dropout of the weights.

    Args:
        queries: float `(B, N, T, H)`, scaled.
        keys: float `(B, N, S, H)`.
        values: float `(B, N, S, H)`.
        mask: bool, broadcasts to `(B, T, S)`, True keeps; None: all are kept.
            Not floats, see `refuse_float_mask`. A query whose keys are all
            masked gets some mean of their values.
        rate: float, the fraction of weights to drop; 0: none.
        seed_generator: see `dropout`; not used with a rate of 0.
        gradient: bool, whether gradients will be needed.

    Returns:
        float `(B, N, T, H)`.

    Reference: Vaswani et al. 2017, equation 1.
    """
    weights = attention_weights(queries, keys, mask, gradient)
    if not rate:
        return ops.matmul(weights, values)
    return dropout_matmul(weights, values, rate, seed_generator)


def attention_weights(
    queries: Tensor,
    keys: Tensor,
    mask: Tensor | None = None,
    gradient: bool = False,
) -> Tensor:
    """Attention weights of each query over the keys, without dropout.

    Args:
        queries, keys, mask, gradient: see `attention`.

    Returns:
        `(B, N, T, S)` in the dtype of `queries`; the last axis sums to 1.

    Reference: Vaswani et al. 2017, equation 1, the softmax.
    """
    scores = masked_scores(queries, keys, mask, gradient)
    if scores.shape[-1] == 1:
        # Keras warns of a softmax over one number, as a likely mistake.
        return ops.cast(ops.exp(scores - scores), queries.dtype)
    return ops.cast(ops.softmax(scores, axis=-1), queries.dtype)


def masked_scores(
    queries: Tensor,
    keys: Tensor,
    mask: Tensor | None = None,
    gradient: bool = False,
) -> Tensor:
    """Scores of queries and keys, whose softmax is the attention.

    Args:
        queries, keys, mask, gradient: see `attention`.

    Returns:
        float32, or float64 for float64 inputs, `(B, N, T, S)`.
    """
    refuse_float_mask(mask)
    bias = None
    if mask is not None:
        # Finite, so that a row whose keys are all masked isn't NaN. Added, so
        # that the gradient doesn't need the mask. float32, whatever `floatx`
        # is.
        bias = ops.where(mask, np.float32(0.0), np.float32(-1e9))
        # Broadcasts to (B, N, T, S); (B, 1, 1, S) for padding alone.
        bias = ops.expand_dims(bias, axis=-3)
    return attention_scores(queries, keys, bias, gradient=gradient)


@dispatched
def attention_scores(
    queries: Tensor,
    keys: Tensor,
    bias: Tensor | None = None,
    gradient: bool = False,
) -> Tensor:
    """Scores of queries and keys, plus a bias such as that of a mask.

    Args:
        queries: float `(..., T, H)`, scaled.
        keys: float `(..., S, H)`.
        bias: float32, broadcasts to `(..., T, S)`, or None. Has no gradient.
        gradient: bool, whether gradients will be needed.

    Returns:
        float32, or float64 for float64 inputs, `(..., T, S)`.

    Reference: Vaswani et al. 2017, equation 1.
    """
    scores = ops.matmul(queries, ops.swapaxes(keys, -1, -2))
    wide = keras.backend.result_type(scores.dtype, "float32")
    scores = ops.cast(scores, wide)
    return scores if bias is None else scores + ops.cast(bias, wide)


@dispatched
def standardize(inputs: Tensor, epsilon: float) -> Tensor:
    """Subtracts the mean of the last axis and divides by its deviation.

    Args:
        inputs: float32 `(..., D)`.
        epsilon: float, added to the variance.

    Returns:
        float32 `(..., D)`.

    Reference: Ba et al. 2016, equation 4, without gain and bias.
    """
    return ops.layer_normalization(inputs, axis=-1, epsilon=epsilon)


@dispatched
def dropout(
    inputs: Tensor, rate: float, seed_generator: keras.random.SeedGenerator
) -> Tensor:
    """Sets a fraction of the numbers to 0 and scales the others up.

    Args:
        inputs: float of any shape.
        rate: float, above 0, at most 1: the fraction.
        seed_generator: `keras.random.SeedGenerator`.

    Returns:
        same shape and dtype as `inputs`, and the same mean on average.

    Reference: Srivastava et al. 2014, section 10.
    """
    return keras.random.dropout(inputs, rate, seed=seed_generator)


@dispatched
def dropout_matmul(
    inputs: Tensor,
    other: Tensor,
    rate: float,
    seed_generator: keras.random.SeedGenerator,
) -> Tensor:
    """The matrix product of `dropout(inputs)` and `other`.

    Args:
        inputs: float `(..., M, K)`.
        other: float `(..., K, N)`.
        rate: see `dropout`.
        seed_generator: see `dropout`.

    Returns:
        float `(..., M, N)`.
    """
    return ops.matmul(dropout(inputs, rate, seed_generator), other)


@dispatched
def relu_dropout(
    inputs: Tensor, rate: float, seed_generator: keras.random.SeedGenerator
) -> Tensor:
    """`dropout` of the rectified inputs, with its arguments and result."""
    return dropout(ops.relu(inputs), rate, seed_generator)


@dispatched
def token_nll(labels: Tensor, logits: Tensor) -> Tensor:
    """Negative log-probability of each label.

    Args:
        labels: int `(B, T)`.
        logits: float `(B, T, V)`.

    Returns:
        float32 `(B, T)`, in nats.
    """
    return ops.sparse_categorical_crossentropy(
        ops.cast(labels, "int32"),
        ops.cast(logits, "float32"),
        from_logits=True,
    )


@dispatched
def smoothed_nll(
    labels: Tensor,
    logits: Tensor,
    from_label: float,
    to_all: float,
    padding_id: int,
) -> Tensor:
    """Negative log-probability of the smoothed target.

    The target's weights add up to 1, so the log of the softmax's denominator
    counts once with and without smoothing. What smoothing adds to `token_nll`
    is linear: `from_label * logits[label] - to_all * sum(logits)`, padding's
    logit left out of the sum.

    Args:
        labels: int32 `(B, T)`.
        logits: float32 `(B, T, V)`.
        from_label: float, what smoothing takes from the label.
        to_all: float, what it gives to each token but padding.
        padding_id: int.

    Returns:
        float32 `(B, T)`, in nats.
    """
    true = ops.take_along_axis(logits, labels[..., None], axis=-1)[..., 0]
    others = ops.cast(ops.arange(logits.shape[-1]) != padding_id, "float32")
    pulled = from_label * true - to_all * ops.matmul(logits, others)
    return token_nll(labels, logits) + pulled


@dispatched
def argmax(logits: Tensor) -> Tensor:
    """The index of the largest number of the last axis, the first of equals.

    Args:
        logits: float `(..., V)`.

    Returns:
        int32 `(...)`.
    """
    return ops.argmax(logits, axis=-1)


@dispatched
def adam_update(
    optimizer: keras.optimizers.Adam,
) -> Callable[[Tensor, keras.Variable, Tensor], None]:
    """Makes the function that updates a variable in a step of Adam.

    Args:
        optimizer: built `keras.optimizers.Adam`.

    Returns:
        a function of gradient, variable and learning rate that updates the
        variable and its two moments.

    Reference: Kingma and Ba 2015, algorithm 1.
    """
    return functools.partial(keras.optimizers.Adam.update_step, optimizer)


@dispatched
def train_function(
    model: keras.Model, function: Callable[[Iterator], dict]
) -> Callable[[Iterator], dict]:
    """Makes the function that a model calls for each step of `fit`.

    Args:
        model: compiled `keras.Model`.
        function: Keras' own; takes an iterator and returns the step's logs.

    Returns:
        a function with the same argument and result.
    """
    return function
