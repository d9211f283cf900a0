"""Averages of weights: of the last epochs, and with the initial ones.

They score better than the weights of the last step, which depend strongly on
the last few batches.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import keras
import numpy as np

from keras_transformer.training import hosts
from keras_transformer.training.run import INITIAL
from keras_transformer.training.weights import remove_weights

if TYPE_CHECKING:
    from keras_transformer.training.callbacks import DevScores
    from keras_transformer.training.run import Run


AVERAGE = "average"


class EpochAverage(keras.callbacks.Callback):
    """Averages the weights of the last epochs, scores and saves the mean.

    The epochs' weights are files of the run, so that a resumed run has them.
    After each epoch the logs have `val_average_cross_entropy` and, if
    translations are scored too, their scores, such as `val_average_bleu`.

    Args:
        run: `Run`; its `training.average_epochs` is the number of epochs.
        dev: dev set in batches, or None.
        dev_scores: `DevScores`, or None.

    Reference: Vaswani et al. 2017, section 6.1.
    """

    def __init__(
        self, run: Run, dev: Iterable | None, dev_scores: DevScores | None
    ) -> None:
        super().__init__()
        self._run = run
        self._dev = dev
        self._dev_scores = dev_scores
        self._epochs = run.config.training.average_epochs

    def on_epoch_end(self, epoch: int, logs: dict) -> None:
        number = epoch + 1
        scores = {key: float(value) for key, value in logs.items()}
        self._run.save_weights(self.model, _name(number), number, scores)
        first = max(1, number - self._epochs + 1)
        before = self._run.weights_path(_name(first - 1))
        hosts.by_chief(remove_weights)(before)
        hosts.wait()  # The other hosts read the files that the chief wrote.
        numbers = range(first, number + 1)
        with _restored(self.model.trainable_weights):
            self._load_mean(list(map(_name, numbers)))
            scores = self._scores(epoch)
            named = {f"val_{name}": value for name, value in scores.items()}
            self._run.save_weights(
                self.model, AVERAGE, number, named, len(numbers)
            )
        logs.update({f"val_average_{n}": value for n, value in scores.items()})

    def _load_mean(self, names):
        """Assigns the mean of the weights of these names to the model."""
        weights = self.model.trainable_weights
        # In float64, so that the mean of equal weights is that weight.
        totals = [np.zeros(weight.shape) for weight in weights]
        for name in names:
            self._run.load_weights(name, self.model)
            for total, weight in zip(totals, weights, strict=True):
                total += weight.numpy()
        for total, weight in zip(totals, weights, strict=True):
            weight.assign((total / len(names)).astype("float32"))

    def _scores(self, epoch):
        scores = {}
        if self._dev is not None:
            measured = self.model.evaluate(
                self._dev, return_dict=True, verbose=0
            )
            scores["cross_entropy"] = float(measured["cross_entropy"])
        if self._dev_scores is not None:
            scores.update(self._dev_scores.scores(self.model, epoch))
        return scores


def _name(number):
    """The name of an epoch's weights; the first is 1."""
    return f"epoch-{number:04d}"


@contextlib.contextmanager
def _restored(weights):
    """Restores the weights' values at the end of a context."""
    values = [weight.numpy() for weight in weights]
    try:
        yield
    finally:
        for weight, value in zip(weights, values, strict=True):
            weight.assign(value)


class InitialInterpolation(keras.callbacks.Callback):
    """Interpolates between initial and trained weights to score and save them.

    The model has the interpolated weights from the first dev batch on, or
    without a dev set from the end of the epoch. `give_back` is the callback
    that restores the trained weights; it comes after those that score and save.

    A model trained further on one kind of text forgets others. Between its
    weights before and after, there are models that are nearly as good as the
    latter on the new kind, and as the former on the old ones. With
    `training.initial_fraction` 0 nothing happens.

    Args:
        run: `Run` that began with another run's weights.
        model: the run's built model, whose weights this leaves as they are.

    Reference: Wortsman et al. 2022, "Robust fine-tuning of zero-shot models"
    (WiSE-FT).
    """

    def __init__(self, run: Run, model: keras.Model) -> None:
        super().__init__()
        self._in_use = False
        self.give_back = keras.callbacks.LambdaCallback(
            on_epoch_end=lambda epoch, logs: self.use(False)
        )
        self._fraction = run.config.training.initial_fraction
        self._weights = model.trainable_weights if self._fraction else []
        self._trained: list[np.ndarray] = []
        with _restored(self._weights):
            if self._fraction:
                run.load_weights(INITIAL, model)
            self._initial = [weight.numpy() for weight in self._weights]

    def on_test_begin(self, logs: dict | None = None) -> None:
        self.use(True)

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        self.use(True)

    def use(self, scored: bool) -> None:
        """Switches the model to the interpolated or the trained weights.

        Args:
            scored: bool, whether to use the interpolated ones.
        """
        if scored == self._in_use:
            return
        self._in_use = scored
        if not scored:
            for weight, value in zip(self._weights, self._trained, strict=True):
                weight.assign(value)
            return
        self._trained = [weight.numpy() for weight in self._weights]
        for weight, trained, initial in zip(
            self._weights, self._trained, self._initial, strict=True
        ):
            weight.assign(trained + self._fraction * (initial - trained))
