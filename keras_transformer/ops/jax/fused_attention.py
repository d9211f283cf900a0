"""Attention in one cuDNN kernel."""

from __future__ import annotations

from types import NotImplementedType
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from keras_transformer.ops import refuse_float_mask

if TYPE_CHECKING:
    import keras


_WIDEST_HEAD = 128


def attention(
    queries: jax.Array,
    keys: jax.Array,
    values: jax.Array,
    mask: jax.Array | None = None,
    rate: float = 0.0,
    seed_generator: keras.random.SeedGenerator | None = None,
    gradient: bool = False,
) -> jax.Array | NotImplementedType:
    """Attention whose scores are never written to memory.

    For NVIDIA's GPUs in half precision, even lengths, and without dropout
    inside, which JAX doesn't offer. Elsewhere XLA compiles the reference like
    JAX's own attention.
    """
    if rate or not _cudnn_serves(queries, keys):
        return NotImplemented
    refuse_float_mask(mask)
    if mask is not None:
        mask = mask.astype(bool)
        mask = jnp.expand_dims(mask, axis=-3)  # broadcasts to (B, N, T, S)
        shape = queries.shape[0], 1, queries.shape[2], keys.shape[2]
        mask = jnp.broadcast_to(mask, shape)  # (B, 1, T, S)
    outputs = jax.nn.dot_product_attention(
        # (B, T, N, H) and (B, S, N, H)
        jnp.swapaxes(queries, 1, 2),
        jnp.swapaxes(keys, 1, 2),
        jnp.swapaxes(values, 1, 2),
        mask=mask,
        scale=1.0,
        implementation="cudnn",
    )
    return jnp.swapaxes(outputs, 1, 2)  # (B, N, T, H)


def _cudnn_serves(queries, keys):
    """True if a kernel exists for these shapes on this machine."""
    half = queries.dtype in (jnp.bfloat16, jnp.float16)
    (length, width), sources = queries.shape[-2:], keys.shape[-2]
    even = length % 2 == sources % 2 == 0
    return (
        half and even and width % 8 == 0 and width <= _WIDEST_HEAD and _cudnn()
    )


def _cudnn():
    device = jax.devices()[0]
    return device.platform == "gpu" and "nvidia" in device.device_kind.lower()
