"""Token losses that pass over the logits once, and once for their gradient.

Axes: B batch, T positions, V vocabulary.
"""

import jax
import jax.numpy as jnp


def smoothed_nll(
    labels: jax.Array,
    logits: jax.Array,
    from_label: float,
    to_all: float,
    padding_id: int,
) -> jax.Array:
    """The smoothed loss: four sums over the vocabulary, which XLA fuses."""
    nll, true = _nll(labels, logits)
    others = jnp.sum(logits, axis=-1) - logits[..., padding_id]
    return nll + from_label * true - to_all * others


def token_nll(labels: jax.Array, logits: jax.Array) -> jax.Array:
    """The loss without the reference's product with one-hot labels."""
    return _nll(labels.astype("int32"), logits.astype("float32"))[0]


def _nll(labels, logits):
    """Negative log-probabilities, and the logits of the labels, `(B, T)`."""
    tokens = jax.lax.broadcasted_iota("int32", logits.shape, logits.ndim - 1)
    # A sum, as the gradient of a lookup is a scatter, slow on accelerators.
    is_label = tokens == labels[..., None]
    true = jnp.sum(jnp.where(is_label, logits, 0.0), axis=-1)
    return jax.nn.logsumexp(logits, axis=-1) - true, true
