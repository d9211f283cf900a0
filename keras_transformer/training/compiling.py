"""Loss, optimizer and metrics to train a model with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from keras import backend, ops

from keras_transformer import compat
from keras_transformer.config.training import TrainingConfig
from keras_transformer.constants import END_ID
from keras_transformer.training.loss import SmoothedCrossEntropy
from keras_transformer.training.metrics import (
    CrossEntropy,
    Perplexity,
    StepMean,
    TokenAccuracy,
)
from keras_transformer.training.optimizer import DenseAdam
from keras_transformer.training.schedule import WarmupSchedule

if TYPE_CHECKING:
    import keras


def compile_model(
    model: keras.Model,
    training: TrainingConfig,
    d_model: int,
    batches_per_epoch: int = 0,
) -> CrossEntropy:
    """Compiles the model and builds its optimizer and metrics.

    Args:
        model: from `build_transformer`.
        training: `TrainingConfig`.
        d_model: int, width of the model.
        batches_per_epoch: int, for the warm-up and the cooldown.

    Returns:
        the compiled `CrossEntropy`, whose `count` counts real tokens.

    Reference: Vaswani et al. 2017, section 5.3.
    """
    cross_entropy = CrossEntropy()
    steps = training.accumulate_steps
    model.compile(
        optimizer=DenseAdam(
            schedule(training, d_model, batches_per_epoch),
            beta_2=0.98,
            epsilon=1e-9,
            global_clipnorm=training.gradient_clip or None,
            gradient_accumulation_steps=steps if steps > 1 else None,
        ),
        loss=SmoothedCrossEntropy(training.label_smoothing),
        metrics=[cross_entropy, Perplexity(), TokenAccuracy()],
        # JAX has no other compiler; on TensorFlow each new shape would wait.
        jit_compile=backend.backend() == "jax",
    )
    model.guided_alignment = training.guided_alignment
    compat.set_loss_tracker(model, StepMean(name="loss"))
    model.optimizer.build(model.trainable_variables)
    # Keras builds metrics at the first update, but a checkpoint may be restored
    # before.
    label = np.full((1, 1), END_ID, dtype="int32")
    logits = ops.zeros((1, 1, model.output_shape[-1]))
    model.compute_metrics(None, ops.convert_to_tensor(label), logits)
    model.reset_metrics()
    return cross_entropy


def schedule(
    training: TrainingConfig, d_model: int, batches_per_epoch: int = 0
) -> WarmupSchedule:
    """The learning rate that is configured.

    Without `batches_per_epoch` it has no cooldown.
    """
    warmup = warmup_steps(training, batches_per_epoch)
    factor = 1.0
    if training.learning_rate is not None:
        factor = training.learning_rate * (d_model * warmup) ** 0.5
    steps = training.accumulate_steps
    cooldown_epochs = training.cooldown_epochs
    if cooldown_epochs < 1:
        cooldown_epochs *= training.epochs
    cooldown_steps = round(cooldown_epochs * batches_per_epoch) // steps
    return WarmupSchedule(
        d_model,
        warmup,
        factor,
        steps,
        num_updates(training, batches_per_epoch),
        cooldown_steps,
    )


def warmup_steps(training: TrainingConfig, batches_per_epoch: int) -> int:
    """The number of updates in the warm-up, at most a quarter of a training's.

    Not limited for the paper's learning rate, whose peak is higher the shorter
    the warm-up is.
    """
    if training.learning_rate is None or not batches_per_epoch:
        return training.warmup_steps
    quarter = num_updates(training, batches_per_epoch) // 4
    return min(training.warmup_steps, max(1, quarter))


def num_updates(training: TrainingConfig, batches_per_epoch: int) -> int:
    """The number of updates of the weights in all epochs."""
    return training.epochs * batches_per_epoch // training.accumulate_steps
