"""Metrics averaged over real tokens.

Axes: B batch, T target positions, V vocabulary.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_transformer.constants import PAD_ID
from keras_transformer.layers.masks import require_token, token_weights
from keras_transformer.models.micro_batches import each_micro_batch
from keras_transformer.ops import argmax, token_nll
from keras_transformer.tensors import Tensor


class _TokenMean(keras.metrics.Metric):
    """Mean over real tokens of a value per position.

    Subclasses define `values(y_true, y_pred)`, float or bool `(B, T)`.
    """

    takes_micro_batches = True

    def __init__(self, name, padding_id=PAD_ID, **kwargs):
        super().__init__(name=name, **kwargs)
        require_token(padding_id)
        self.padding_id = padding_id
        # In float16, which `floatx` may be, counts would stop at 2,048.
        zero = {"initializer": "zeros", "dtype": "float32"}
        self.total = self.add_weight(name="total", **zero)
        self.count = self.add_weight(name="count", **zero)

    def update_state(self, y_true, y_pred, sample_weight=None):
        weights = token_weights(y_true, self.padding_id, sample_weight)
        values = each_micro_batch(self.values, y_true, y_pred)
        values = ops.cast(values, "float32")
        values = ops.where(weights == 0, 0.0, values * weights)
        self.total.assign_add(ops.sum(values))
        self.count.assign_add(ops.sum(weights))

    def result(self):
        return ops.divide_no_nan(self.total, self.count)

    def get_config(self):
        return {**super().get_config(), "padding_id": self.padding_id}


@keras.saving.register_keras_serializable(package="keras_transformer")
class StepMean(keras.metrics.Mean):
    """Mean over steps, each of which counts the same.

    So the mean of an epoch doesn't depend on the number of padding rows in its
    batches, which differs with the number of devices.
    """

    def __init__(self, name: str = "mean", dtype: str = "float32") -> None:
        # In float16, which `floatx` may be, counts would stop at 2,048.
        super().__init__(name, dtype)

    def update_state(
        self, values: Tensor, sample_weight: Tensor | None = None
    ) -> None:
        super().update_state(values)


@keras.saving.register_keras_serializable(package="keras_transformer")
class CrossEntropy(_TokenMean):
    """Cross-entropy in nats per real token, without smoothing.

    The end token counts, padding doesn't.

    Args:
        name: name of the score.
        **kwargs: `padding_id`, int, label of positions that don't count, and
            arguments of `keras.metrics.Metric`.

    Call arguments: as for `SmoothedCrossEntropy`. The result is a float32
    scalar, 0 without tokens.

    Raises:
        ValueError: `padding_id` is negative.
    """

    # A private attribute of Keras metrics: lower is better, for callbacks that
    # monitor the score.
    _direction = "down"

    def __init__(self, name: str = "cross_entropy", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)

    def values(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        return token_nll(y_true, y_pred)


@keras.saving.register_keras_serializable(package="keras_transformer")
class Perplexity(CrossEntropy):
    """The exponential of `CrossEntropy`.

    Takes the same arguments; the result is 1 without tokens.
    """

    def __init__(self, name: str = "perplexity", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)

    def result(self) -> Tensor:
        return ops.exp(super().result())


@keras.saving.register_keras_serializable(package="keras_transformer")
class TokenAccuracy(_TokenMean):
    """Fraction of real tokens whose most probable prediction is right.

    Arguments are those of `CrossEntropy`; the result is from 0 to 1.
    """

    _direction = "up"  # See `CrossEntropy`.

    def __init__(self, name: str = "token_accuracy", **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)

    def values(self, y_true: Tensor, y_pred: Tensor) -> Tensor:
        return ops.equal(ops.cast(y_true, "int32"), argmax(y_pred))
