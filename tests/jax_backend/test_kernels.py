"""JAX's kernels against the references."""

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

from keras_transformer import ops
from keras_transformer.ops import dispatch
from keras_transformer.ops.jax import fused_attention

RNG = np.random.default_rng(1)
LABELS = np.array([[4, 6, 3], [5, 3, 0]], dtype="int32")


@pytest.mark.parametrize("operation", sorted(dispatch.KERNELS["jax"]))
def test_every_kernel_of_the_table_is_there(operation):
    assert callable(getattr(ops, operation).reference)
    assert callable(dispatch.find_kernel("jax", operation))


@pytest.mark.parametrize(
    ("name", "options"),
    [("token_nll", ()), ("smoothed_nll", (0.12, 0.02, 0))],
)
def test_losses_agree_with_the_reference(name, options):
    logits = jnp.array(RNG.normal(size=(2, 3, 7)), "float32")
    operation = getattr(ops, name)

    def of(function):
        loss, gradient = jax.value_and_grad(
            lambda logits: jnp.sum(jnp.sin(function(LABELS, logits, *options)))
        )(logits)
        return function(LABELS, logits, *options), loss, gradient

    for ours, expected in zip(
        of(dispatch.find_kernel("jax", name)),
        of(operation.reference),
        strict=True,
    ):
        np.testing.assert_allclose(ours, expected, atol=1e-5)


def test_dropout_passes_gradients_where_the_values_went():
    def total(x):
        result = ops.dropout(x, 0.5, keras.random.SeedGenerator(1))
        return jnp.sum(result), result

    gradient, output = jax.grad(total, has_aux=True)(jnp.full((9, 50), 2.0))
    np.testing.assert_allclose(gradient, output / 2)


def heads(*shape, dtype="bfloat16"):
    return jnp.array(RNG.normal(size=shape), dtype)


def test_attention_is_the_reference_on_a_processor():
    arguments = heads(2, 2, 4, 8), heads(2, 2, 6, 8), heads(2, 2, 6, 8)
    assert fused_attention.attention(*arguments) is NotImplemented
    assert ops.attention(*arguments).shape == (2, 2, 4, 8)


def test_fused_attention_agrees_with_the_reference(monkeypatch):
    """As far as it can be seen without cuDNN: layout, mask, scale."""
    plain = jax.nn.dot_product_attention

    def by_xla(*arguments, implementation, **options):
        assert implementation == "cudnn"
        return plain(*arguments, **options, implementation="xla")

    monkeypatch.setattr(jax.nn, "dot_product_attention", by_xla)
    monkeypatch.setattr(fused_attention, "_cudnn", lambda: True)
    arguments = heads(2, 2, 4, 8), heads(2, 2, 6, 8), heads(2, 2, 6, 8)
    mask = np.ones((2, 1, 6), bool)
    mask[1, :, 4:] = False
    for chosen in (None, mask, np.broadcast_to(mask, (2, 4, 6))):
        ours = fused_attention.attention(*arguments, chosen)
        expected = ops.attention.reference(*arguments, chosen)
        np.testing.assert_allclose(
            ours.astype("float32"), expected.astype("float32"), atol=0.03
        )
    integers = fused_attention.attention(*arguments, mask.astype("int32"))
    np.testing.assert_array_equal(
        integers, fused_attention.attention(*arguments, mask)
    )
    with pytest.raises(ValueError, match="mask is boolean, True keeps"):
        fused_attention.attention(*arguments, np.where(mask, 0.0, -np.inf))
    hidden = fused_attention.attention(*arguments, np.zeros((2, 1, 6), bool))
    assert np.isfinite(hidden.astype("float32")).all()


@pytest.mark.parametrize(
    "change",
    [
        {"rate": 0.1},
        {"queries": heads(2, 2, 5, 8)},
        {"queries": heads(2, 2, 4, 8, dtype="float32")},
        {"queries": heads(2, 2, 4, 12), "keys": heads(2, 2, 6, 12)},
    ],
    ids=["dropout", "odd length", "float32", "width"],
)
def test_fused_attention_leaves_the_rest_to_the_reference(change, monkeypatch):
    monkeypatch.setattr(fused_attention, "_cudnn", lambda: True)
    arguments = {"queries": heads(2, 2, 4, 8), "keys": heads(2, 2, 6, 8)}
    arguments |= {"values": heads(2, 2, 6, 8), **change}
    assert fused_attention.attention(**arguments) is NotImplemented


GPU_SHAPES = [
    # heads, targets, sources, width, causal
    (8, 14, 14, 64, True),
    (8, 14, 24, 64, False),
    (8, 10, 10, 64, True),
    (4, 24, 24, 32, True),
    (4, 8, 18, 64, False),
]


@pytest.mark.parametrize("shape", GPU_SHAPES, ids=str)
def test_fused_attention_on_a_gpu_is_as_exact_as_the_reference(shape):
    if jax.devices()[0].platform != "gpu":
        pytest.skip("needs a GPU")
    heads, targets, sources, width, causal = shape
    random = np.random.default_rng(1)
    sizes = (64, heads, targets, width), (64, heads, sources, width)
    queries, keys, values = (
        jnp.array(random.normal(size=size), "float32")
        for size in (sizes[0], sizes[1], sizes[1])
    )
    weights = jnp.array(random.normal(size=sizes[0]), "float32")
    lengths = random.integers(1, sources + 1, 64)
    mask = np.arange(sources) < lengths[:, np.newaxis, np.newaxis]
    if causal:
        mask = mask & np.tril(np.ones((targets, sources), bool))
    arrays = [queries * width**-0.25, keys * width**-0.25, values]

    def results(function, dtype):
        def total(*arrays):
            arrays = [array.astype(dtype) for array in arrays]
            output = function(*arrays, mask).astype("float32")
            return jnp.sum(output * weights), output

        graph = jax.jit(jax.value_and_grad(total, (0, 1, 2), has_aux=True))
        (_, output), gradients = graph(*arrays)
        return output, *gradients

    reference = ops.attention.reference
    fused = results(fused_attention.attention, "bfloat16")
    plain = results(reference, "bfloat16")
    exact = results(reference, "float32")
    for ours, theirs, expected in zip(fused, plain, exact, strict=True):
        allowed = 1.5 * jnp.abs(theirs - expected).max()
        assert jnp.abs(ours - expected).max() <= allowed
