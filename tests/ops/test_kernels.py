"""Each backend's kernels against the references, and which of them runs."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer import ops
from keras_transformer.ops import dispatch

RNG = np.random.default_rng(1)


def random(*shape):
    return tf.constant(RNG.normal(size=shape), "float32")


LABELS = np.array([[4, 6, 3], [5, 3, 0]], dtype="int32")
ARGUMENTS = {
    "dense": [
        ((random(2, 3, 4), random(4, 5), random(5)), {"kernel_gradient": True}),
        ((random(3, 4), random(4, 5)), {"kernel_gradient": True}),
        (
            (random(2, 3, 4), random(5, 4)),
            {"kernel_gradient": True, "transposed": True},
        ),
    ],
    "attention_scores": [
        ((random(2, 3, 4), random(2, 5, 4)), {"gradient": True}),
        (
            (random(2, 3, 4), random(2, 5, 4), np.float32([[[-3]], [[-9]]])),
            {"gradient": True},
        ),
    ],
    "standardize": [((random(3, 5), 1e-6), {})],
    "smoothed_nll": [((LABELS, random(2, 3, 7), 0.12, 0.02, 0), {})],
    "token_nll": [((LABELS, random(2, 3, 7)), {})],
    "argmax": [((random(2, 3, 7),), {})],
}
CASES = [(name, *case) for name, cases in ARGUMENTS.items() for case in cases]


def with_gradients(function, arguments, options):
    """The result, and its gradients by what it depends on."""
    tensors = [a for a in arguments if tf.is_tensor(a)]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        result = function(*arguments, **options)
        loss = tf.reduce_sum(tf.sin(tf.cast(result, "float32")))
    return [result, *tape.gradient(loss, tensors)]


@pytest.mark.parametrize(
    ("name", "arguments", "options"), CASES, ids=[case[0] for case in CASES]
)
def test_kernels_agree_with_the_reference(name, arguments, options):
    kernel = dispatch.find_kernel("tensorflow", name)
    reference = getattr(ops, name).reference
    for ours, expected in zip(
        with_gradients(kernel, arguments, options),
        with_gradients(reference, arguments, options),
        strict=True,
    ):
        if expected is None:
            assert ours is None
            continue
        assert ours.dtype == expected.dtype
        np.testing.assert_allclose(ours, expected, atol=1e-5)


def test_a_label_whose_probability_is_0_in_float32_has_its_loss():
    logits = tf.constant([[[0.0, 0.0, 0.0, 200.0]]])
    arguments = np.array([[1]]), logits
    with tf.GradientTape() as tape:
        tape.watch(logits)
        nll = ops.token_nll(*arguments)
    np.testing.assert_allclose(nll, [[200.0]])
    gradient = tape.gradient(nll, logits)
    np.testing.assert_allclose(gradient, [[[0, -1, 0, 1]]], atol=1e-6)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_logit_that_is_not_finite_makes_the_loss_so(wrong):
    logits = tf.constant([[[0.0, 0.0, wrong, 0.0]]])
    assert not np.isfinite(ops.token_nll(np.array([[1]]), logits))


@pytest.fixture
def without_kernels(monkeypatch):
    """What a backend that has no kernels runs."""
    monkeypatch.setattr(keras.backend, "backend", lambda: "another")


@pytest.mark.parametrize("name", ["dropout", "relu_dropout"])
def test_the_reference_drops_its_fraction_too(name, without_kernels):
    x = np.abs(RNG.normal(size=(300, 301))).astype("float32")
    generator = keras.random.SeedGenerator(1)
    output = np.array(getattr(ops, name)(x, 0.3, generator))
    assert (output == 0).mean() == pytest.approx(0.3, abs=0.01)
    np.testing.assert_allclose(output[output > 0], x[output > 0] / 0.7, 1e-5)


def test_the_reference_of_a_product_is_one_of_what_is_kept():
    x, y = RNG.normal(size=(5, 7)), RNG.normal(size=(7, 3))
    product = ops.dropout_matmul.reference(
        x.astype("float32"),
        y.astype("float32"),
        0.4,
        keras.random.SeedGenerator(2),
    )
    kept = ops.dropout(x.astype("float32"), 0.4, keras.random.SeedGenerator(2))
    np.testing.assert_allclose(product, np.array(kept) @ y, atol=1e-5)


def test_the_reference_of_adam_is_keras_own():
    weights = []
    for update in (ops.adam_update, ops.adam_update.reference):
        weight = keras.Variable(np.ones(3, "float32"))
        optimizer = keras.optimizers.Adam(0.1)
        optimizer.build([weight])
        gradient = tf.constant([1.0, -2.0, 0.5])
        update(optimizer)(gradient, weight.value, 0.1)
        weights.append(weight.numpy())
    np.testing.assert_allclose(*weights, atol=1e-6)
    assert np.abs(weights[0] - 1).min() > 0.01


@pytest.mark.parametrize("operation", sorted(dispatch.KERNELS["tensorflow"]))
def test_every_kernel_of_the_table_is_there(operation):
    assert callable(getattr(ops, operation).reference)
    assert callable(dispatch.find_kernel("tensorflow", operation))


def test_a_backend_without_kernels_runs_the_references(without_kernels):
    assert dispatch.find_kernel("another", "argmax") is None
    np.testing.assert_array_equal(ops.argmax(np.array([[1.0, 3.0]])), [1])


def test_a_kernel_may_leave_arguments_to_the_reference(monkeypatch):
    def kernel(inputs, epsilon):
        return NotImplemented if epsilon else "kernel"

    monkeypatch.setattr(dispatch, "find_kernel", lambda *_: kernel)
    assert ops.standardize(None, 0) == "kernel"
    x = np.array([[1.0, 3.0]], "float32")
    np.testing.assert_allclose(ops.standardize(x, 1e-9), [[-1, 1]], atol=1e-5)
