"""The learning rate of the paper: warm-up, then inverse square root."""

from __future__ import annotations

import keras
from keras import ops

from keras_transformer.tensors import Tensor


@keras.saving.register_keras_serializable(package="keras_transformer")
class WarmupSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Rises linearly for the warm-up, then falls as 1 / sqrt(step).

    `factor * d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5)`,
    where `step` counts from 1: the notebooks' Noam rate. Keras passes the
    number of updates already made, so the first update asks for 0 and gets
    the rate of step 1, never 0. With gradient accumulation Keras passes the
    number of batches, of which `accumulation_steps` make an update.

    Args:
        d_model: int, width of the model.
        warmup_steps: int, updates until the peak.
        factor: float, scales the whole curve.
        accumulation_steps: int, the optimizer's
            `gradient_accumulation_steps`, 1 without.

    Raises:
        ValueError: `d_model` or `warmup_steps` is below 1.

    Reference: Vaswani et al. 2017, equation 3.
    """

    def __init__(
        self,
        d_model: int,
        warmup_steps: int = 4000,
        factor: float = 1.0,
        accumulation_steps: int = 1,
    ) -> None:
        super().__init__()
        if d_model < 1 or warmup_steps < 1:
            raise ValueError(
                "d_model and warmup_steps must be 1 or more. Received: "
                f"d_model={d_model}, warmup_steps={warmup_steps}"
            )
        self.d_model = d_model
        self.warmup_steps = warmup_steps
        self.factor = factor
        self.accumulation_steps = accumulation_steps

    def __call__(self, step: int | Tensor) -> Tensor:
        if self.accumulation_steps > 1:
            step = step // self.accumulation_steps
        step = ops.cast(step, "float32") + 1.0
        rising = step * self.warmup_steps**-1.5
        return (
            self.factor
            * self.d_model**-0.5
            * ops.minimum(ops.rsqrt(step), rising)
        )

    def get_config(self) -> dict:
        return {
            "d_model": self.d_model,
            "warmup_steps": self.warmup_steps,
            "factor": self.factor,
            "accumulation_steps": self.accumulation_steps,
        }

    def __repr__(self) -> str:
        config = self.get_config().items()
        values = ", ".join(f"{name}={value}" for name, value in config)
        return f"WarmupSchedule({values})"
