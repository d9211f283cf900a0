"""The learning rate of the paper: warm-up, then inverse square root.

At the end of a training of known length it may fall to 0, the cooldown.
"""

from __future__ import annotations

import keras
from keras import ops

from keras_transformer.tensors import Tensor


@keras.saving.register_keras_serializable(package="keras_transformer")
class WarmupSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Rises linearly for the warm-up, then falls as 1 / sqrt(step).

    `factor * d_model^-0.5 * min(step^-0.5, step * warmup_steps^-1.5)`,
    where `step` counts from 1: the notebooks' Noam rate. Keras passes the
    number of updates done so far, so the first update passes 0 and gets the
    rate of step 1, not a rate of 0. With gradient accumulation Keras passes the
    number of batches, of which `accumulation_steps` are one update.

    With `cooldown_steps` that rate is multiplied by a factor that falls
    linearly in the last of `num_steps` updates, from 1 to 1 / cooldown_steps,
    and is 0 after them: small steps find the middle of the region that large
    ones have reached.

    Args:
        d_model: int, width of the model.
        warmup_steps: int, updates until the peak.
        factor: float, scales the whole curve.
        accumulation_steps: int, the optimizer's
            `gradient_accumulation_steps`; 1 if there is none.
        num_steps: int, updates of the whole training, for the cooldown.
        cooldown_steps: int, updates of the cooldown; 0: none.

    Raises:
        ValueError: `d_model` or `warmup_steps` is below 1, or
            `cooldown_steps` isn't from 0 to `num_steps`.

    References: Vaswani et al. 2017, equation 3; Hägele et al. 2024, section
    3, for the cooldown.
    """

    def __init__(
        self,
        d_model: int,
        warmup_steps: int = 4000,
        factor: float = 1.0,
        accumulation_steps: int = 1,
        num_steps: int = 0,
        cooldown_steps: int = 0,
    ) -> None:
        super().__init__()
        if d_model < 1 or warmup_steps < 1:
            raise ValueError(
                "d_model and warmup_steps must be 1 or more. Received: "
                f"d_model={d_model}, warmup_steps={warmup_steps}"
            )
        if not 0 <= cooldown_steps <= num_steps:
            raise ValueError(
                "cooldown_steps must be from 0 to num_steps. Received: "
                f"cooldown_steps={cooldown_steps}, num_steps={num_steps}"
            )
        self.d_model = d_model
        self.warmup_steps = warmup_steps
        self.factor = factor
        self.accumulation_steps = accumulation_steps
        self.num_steps = num_steps
        self.cooldown_steps = cooldown_steps

    def __call__(self, step: int | Tensor) -> Tensor:
        if self.accumulation_steps > 1:
            step = step // self.accumulation_steps
        step = ops.cast(step, "float32") + 1.0
        rising = step * self.warmup_steps**-1.5
        rate = (
            self.factor
            * self.d_model**-0.5
            * ops.minimum(ops.rsqrt(step), rising)
        )
        if not self.cooldown_steps:
            return rate
        left = (self.num_steps + 1 - step) / self.cooldown_steps
        return rate * ops.clip(left, 0.0, 1.0)

    def get_config(self) -> dict:
        return {
            "d_model": self.d_model,
            "warmup_steps": self.warmup_steps,
            "factor": self.factor,
            "accumulation_steps": self.accumulation_steps,
            "num_steps": self.num_steps,
            "cooldown_steps": self.cooldown_steps,
        }

    def __repr__(self) -> str:
        config = self.get_config().items()
        values = ", ".join(f"{name}={value}" for name, value in config)
        return f"WarmupSchedule({values})"
