"""Dropout from few random bits."""

from __future__ import annotations

from types import NotImplementedType
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

if TYPE_CHECKING:
    import keras


_MAX_RATE = 255 / 256


def dropout(
    inputs: jax.Array, rate: float, seed_generator: keras.random.SeedGenerator
) -> jax.Array | NotImplementedType:
    """Dropout from 8 random bits for each number, where JAX draws 64.

    The fraction that a call drops is a multiple of 1/256: one of the two next
    to `rate`, drawn for each call so that each number is dropped with the
    probability `rate`. Kept numbers are scaled by the call's own fraction, so
    that the mean stays the same.

    The bits of a number depend on its index alone, not on how an array is
    distributed over devices.
    """
    if rate > _MAX_RATE or not inputs.shape:
        return NotImplemented
    key = seed_generator.next()
    low, rest = divmod(rate * 2**8, 1)
    # Each word is for four adjacent numbers of the last axis.
    words = -(-inputs.shape[-1] // 4)
    drawn = jax.random.bits(key, (*inputs.shape[:-1], words), "uint32")
    numbers = jax.lax.bitcast_convert_type(drawn, "uint8")  # (..., words, 4)
    numbers = numbers.reshape((*inputs.shape[:-1], words * 4))
    numbers = numbers[..., : inputs.shape[-1]]
    more = jax.random.uniform(jax.random.fold_in(key, 1)) < rest
    dropped = low + more
    scale = (256 / (256 - dropped)).astype(inputs.dtype)
    keep = numbers >= dropped.astype("uint8")
    return jnp.where(keep, inputs * scale, jnp.zeros_like(inputs))
