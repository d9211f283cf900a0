"""Pooling of the vectors of a text into one.

Axes: B batch, S positions, D model width.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from keras_transformer.ops import refuse_float_mask
from keras_transformer.tensors import Shape, Tensor

MODES = ("mean", "max")


@keras.saving.register_keras_serializable(package="keras_transformer")
class MaskedPooling(keras.layers.Layer):
    """The mean, or the maximum, over the positions of real tokens.

    A text without tokens gives zeros, where Keras' own
    `GlobalAveragePooling1D` divides 0 by 0.

    Args:
        mode: "mean", or "max": the largest value of each of the D features.

    Call arguments:
        inputs: float `(B, S, D)`.
        mask: bool `(B, S)`, False at padding; by default the implicit mask of
            `inputs`, such as `keras.layers.Embedding(mask_zero=True)` sets;
            without a mask every position counts.

    Returns:
        float `(B, D)`.

    Raises:
        ValueError: unknown mode, or a mask that is of floats or not `(B, S)`.

    Example:
        >>> import numpy as np
        >>> inputs = np.array([[[1.0], [3.0], [9.0]]], dtype="float32")
        >>> mask = np.array([[True, True, False]])
        >>> np.array(MaskedPooling()(inputs, mask=mask)).tolist()
        [[2.0]]
    """

    def __init__(self, mode: str = "mean", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if mode not in MODES:
            raise ValueError(
                f"mode must be 'mean' or 'max'. Received: {mode!r}"
            )
        self.mode = mode
        self.supports_masking = True

    def call(self, inputs: Tensor, mask: Tensor | None = None) -> Tensor:
        refuse_float_mask(mask)
        if mask is None:
            mask = ops.ones_like(inputs[..., 0], dtype="bool")
        elif len(mask.shape) != 2:
            raise ValueError(
                "mask is one of tokens, (batch, length). Received: "
                f"{tuple(mask.shape)}"
            )
        mask = ops.cast(mask[..., None], "bool")  # (B, S, 1)
        if self.mode == "max":
            return self._largest(inputs, mask)
        # At least float32, as the sum over a long text overflows float16.
        wide = keras.backend.result_type(inputs.dtype, "float32")
        x = ops.where(mask, ops.cast(inputs, wide), 0.0)
        count = ops.sum(ops.cast(mask, wide), axis=1)  # (B, 1)
        mean = ops.divide_no_nan(ops.sum(x, axis=1), count)  # (B, D)
        return ops.cast(mean, self.compute_dtype)

    def _largest(self, inputs, mask):
        lowest = -float("inf")
        largest = ops.max(
            ops.where(mask, inputs, lowest), axis=1, initial=lowest
        )  # (B, D)
        # (B, 1)
        is_text = ops.any(mask, axis=1)
        return ops.where(is_text, largest, 0.0)

    def compute_mask(self, inputs: Tensor, mask: Tensor | None = None) -> None:
        return None  # There are no positions left.

    def compute_output_shape(self, inputs_shape: Shape) -> Shape:
        return (inputs_shape[0], inputs_shape[2])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "mode": self.mode}
