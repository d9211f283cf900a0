"""Masked, label-smoothed cross-entropy in closed form.

Axes: B batch, T target positions, V vocabulary.
"""

from __future__ import annotations

import math

import keras
from keras import ops

from keras_transformer.compat import scaled_for_replicas
from keras_transformer.constants import PAD_ID
from keras_transformer.layers.masks import require_token, token_weights
from keras_transformer.models.micro_batches import (
    MicroBatches,
    each_micro_batch,
)
from keras_transformer.ops import smoothed_nll, token_nll
from keras_transformer.tensors import Tensor


@keras.saving.register_keras_serializable(package="keras_transformer")
class SmoothedCrossEntropy(keras.losses.Loss):
    """Cross-entropy per real token against a smoothed target.

    The smoothed target gives the true token 1 - epsilon, padding nothing,
    and each of the V - 2 other tokens epsilon / (V - 2), as in the notebooks.
    The notebooks minimise the Kullback-Leibler divergence from that target,
    which is this cross-entropy plus `kl_constant` and has the same gradients.

    The loss is the sum over real tokens divided by their number, so neither
    padding nor batch size changes it. Nothing of the size `(B, T, V)` is
    built besides the logits and what their softmax needs.

    Args:
        label_smoothing: float, epsilon, at least 0 and below 1.
        padding_id: int, label of positions that don't count.

    Call arguments:
        y_true: int labels `(B, T)`.
        y_pred: logits `(B, T, V)`, or their `MicroBatches`; finite with
            smoothing.
        sample_weight: optional float, `(B,)`, or broadcasts to `(B, T)`; a
            factor of the loss, as in Keras: the divisor counts each token once.

    Returns:
        float32 scalar, in nats per token.

    Raises:
        ValueError: `label_smoothing` isn't at least 0 and below 1,
            `padding_id` is negative, or, when called with smoothing, V is
            below 3: padding, the label, and a token that gets the rest.

    References: Szegedy et al. 2016, section 7; Vaswani et al. 2017,
    section 5.4.
    """

    takes_micro_batches = True

    def __init__(
        self,
        label_smoothing: float = 0.0,
        padding_id: int = PAD_ID,
        name: str = "smoothed_cross_entropy",
    ) -> None:
        super().__init__(name=name)
        if not 0 <= label_smoothing < 1:
            raise ValueError(
                "label_smoothing must be at least 0 and below 1. "
                f"Received: {label_smoothing}"
            )
        require_token(padding_id)
        self.label_smoothing = label_smoothing
        self.padding_id = padding_id

    def __call__(
        self,
        y_true: Tensor,
        y_pred: Tensor | MicroBatches,
        sample_weight: Tensor | None = None,
    ) -> Tensor:
        # Keras' reductions divide by positions, padding included.
        weights = token_weights(y_true, self.padding_id, sample_weight)
        losses = each_micro_batch(self.call, y_true, y_pred)
        # A model may give padding a probability of 0: an infinite loss.
        losses = ops.where(weights == 0, 0.0, losses * weights)
        tokens = token_weights(y_true, self.padding_id)
        loss = ops.divide_no_nan(ops.sum(losses), ops.sum(tokens))
        return scaled_for_replicas(loss)

    def call(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        """Loss of each position, float32 `(B, T)`, padding included."""
        logits = ops.cast(y_pred, "float32")
        if not self.label_smoothing:
            return token_nll(y_true, logits)
        labels = ops.cast(y_true, "int32")
        _require_others(logits.shape[-1], self.label_smoothing)
        to_all = self.label_smoothing / (logits.shape[-1] - 2)
        weights = self.label_smoothing + to_all, to_all, self.padding_id
        return smoothed_nll(labels, logits, *weights)

    def get_config(self) -> dict:
        return {
            "name": self.name,
            "label_smoothing": self.label_smoothing,
            "padding_id": self.padding_id,
        }

    def __repr__(self) -> str:
        return f"SmoothedCrossEntropy(label_smoothing={self.label_smoothing})"


def _require_others(vocabulary_size, label_smoothing):
    """Refuses smoothing without a token besides padding and the label."""
    if vocabulary_size < 3:
        raise ValueError(
            "label smoothing takes 3 or more tokens, one of them padding. "
            f"Received: {vocabulary_size} and label_smoothing="
            f"{label_smoothing}. Accepted with fewer: label_smoothing=0"
        )


def kl_constant(label_smoothing: float, vocabulary_size: int) -> float:
    """The notebooks' divergence minus this cross-entropy, a constant.

    It is the negative entropy of the smoothed target:
    `(1 - e) log(1 - e) + e log(e / (V - 2))`.

    Returns:
        float, in nats per token; 0 without smoothing.

    Raises:
        ValueError: V is below 3, see `SmoothedCrossEntropy`.
    """
    if not label_smoothing:
        return 0.0
    _require_others(vocabulary_size, label_smoothing)
    e = label_smoothing
    return (1 - e) * math.log(1 - e) + e * math.log(e / (vocabulary_size - 2))
