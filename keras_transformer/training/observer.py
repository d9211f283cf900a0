"""The interface by which progress of a training is observed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import keras

    from keras_transformer.data.batching import TrainingBatches


class Observer:
    """Receives the progress of a training; override what you need."""

    def start(self, model: keras.Model, batches: TrainingBatches) -> None:
        """Called before the first step.

        Also if all epochs are done already, but not if patience is lost.
        """

    def initial(self, scores: Mapping) -> None:
        """Called with the dev scores of the initial weights."""

    def vectors(self, side: str, fraction: float) -> None:
        """Called with the fraction of a vocabulary that has vectors."""

    def aligns(self, pairs: int) -> None:
        """Called before words of all pairs are aligned, which takes a while."""

    def step(self, epoch: int, batch: int, logs: Mapping) -> None:
        """Called after each step; epochs and batches count from 1."""

    def epoch(self, epoch: int, logs: Mapping) -> None:
        """Called after each epoch, with all its scores in `logs`."""

    def stopped_early(self, epochs: int) -> None:
        """Called if `training.early_stopping` ended it after `epochs`."""

    def diverged(self, epochs: int) -> None:
        """Called if NaN or infinite weights ended it after `epochs`."""

    def close(self) -> None:
        """Called after the training, also if it was interrupted or failed."""
