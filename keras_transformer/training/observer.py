"""Progress of a training, for those who show it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import keras

    from keras_transformer.data.batching import TrainingBatches


class Observer:
    """Receives the progress of a training; override what you need."""

    def start(self, model: keras.Model, batches: TrainingBatches) -> None:
        """Before the first step: the model and its `TrainingBatches`.

        Also where all epochs are done, but not where patience is lost.
        """

    def initial(self, scores: Mapping) -> None:
        """The dev scores of the weights that training begins with."""

    def vectors(self, side: str, fraction: float) -> None:
        """The fraction of the vocabulary that has pre-trained vectors."""

    def aligns(self, pairs: int) -> None:
        """Before words of so many pairs are aligned, which takes a while."""

    def step(self, epoch: int, batch: int, logs: Mapping) -> None:
        """After each step; both count from 1."""

    def epoch(self, epoch: int, logs: Mapping) -> None:
        """After each epoch, all its scores in `logs`."""

    def stopped_early(self, epochs: int) -> None:
        """`training.early_stopping` ended it after so many epochs."""

    def diverged(self, epochs: int) -> None:
        """Weights that are no numbers ended it after so many epochs."""

    def close(self) -> None:
        """After the training, also if it was interrupted or failed."""
