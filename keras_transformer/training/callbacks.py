"""Keras callbacks of `fit`: readings, dev scores, the best weights, history.

The callback that interrupts and resumes training is in `checkpoint`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from keras_transformer.training import hosts
from keras_transformer.training.step_logs import StepLogs

if TYPE_CHECKING:
    from keras_transformer.data.batching import TrainingBatches
    from keras_transformer.training.metrics import CrossEntropy
    from keras_transformer.training.observer import Observer
    from keras_transformer.training.run import Run


# By `training.best_by`: the name of the score, and whether more is better.
_CRITERIA = {
    "loss": ("cross_entropy", False),
    "bleu": ("bleu", True),
    "last": ("epoch", True),
}


class Speed(keras.callbacks.Callback):
    """Adds learning rate, target tokens per second and seconds to the logs.

    Args:
        cross_entropy: the compiled `CrossEntropy`, which counts real tokens.
    """

    def __init__(self, cross_entropy: CrossEntropy) -> None:
        super().__init__()
        self._cross_entropy = cross_entropy
        self.seconds_before = 0.0  # spent on this epoch before a resume

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        self._start = time.perf_counter()
        self._first_count = 0.0
        self._of_steps: dict | None = None

    def on_train_batch_begin(
        self, batch: int, logs: dict | None = None
    ) -> None:
        if batch == 0:  # the count now has a resumed epoch's earlier tokens
            self._first_count = float(self._cross_entropy.count)

    def on_test_begin(self, logs: dict | None = None) -> None:
        # Evaluation overwrites the metrics of the epoch.
        self._of_steps = self.readings()

    def on_epoch_end(self, epoch: int, logs: dict) -> None:
        logs.update(self._of_steps or self.readings())
        logs["seconds"] = self.seconds()
        self.seconds_before = 0.0

    def seconds(self) -> float:
        """Seconds spent on the current epoch, also before a resume."""
        return self.seconds_before + time.perf_counter() - self._start

    def readings(self) -> dict:
        """Learning rate, and target tokens per second of the epoch so far.

        Waits until the device has done all dispatched steps.
        """
        hosts.synchronized(self.model)
        tokens = float(self._cross_entropy.count) - self._first_count
        seconds = time.perf_counter() - self._start
        return {
            "learning_rate": float(self.model.optimizer.learning_rate),
            "tokens_per_second": tokens / seconds,
        }


class Position(keras.callbacks.Callback):
    """Sets the epoch that the batches read.

    Args:
        batches: `TrainingBatches`; `first_batch` is where a resumed epoch
            continues, and 0 for every later one.
    """

    def __init__(self, batches: TrainingBatches) -> None:
        super().__init__()
        self._batches = batches

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        self._batches.epoch = epoch

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        self._batches.first_batch = 0


class History(keras.callbacks.Callback):
    """Writes a line per epoch to the run's history, also after a resume."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._run = run

    @hosts.by_chief
    def on_epoch_end(self, epoch: int, logs: dict) -> None:
        earlier = [e for e in self._run.history() if e["epoch"] <= epoch]
        line: dict[str, float] = {"epoch": epoch + 1}
        line.update((key, float(value)) for key, value in logs.items())
        self._run.write_history([*earlier, line])


class Report(keras.callbacks.Callback):
    """Reports each step and epoch to an observer.

    Args:
        observer: `Observer`; epochs, and batches of an epoch, count from 1.
        speed: `Speed`, whose readings are part of a step's logs.
        batches: `TrainingBatches`, whose `first_batch` a resume sets.
    """

    def __init__(
        self, observer: Observer, speed: Speed, batches: TrainingBatches
    ) -> None:
        super().__init__()
        self._observer = observer
        self._speed = speed
        self._batches = batches

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        self._epoch = epoch + 1
        self._first_batch = self._batches.first_batch

    def on_train_batch_end(self, batch: int, logs: dict) -> None:
        read = StepLogs(logs, self._speed.readings)
        self._observer.step(self._epoch, self._first_batch + batch + 1, read)

    def on_epoch_end(self, epoch: int, logs: dict) -> None:
        self._observer.epoch(epoch + 1, logs)


class DevScores(keras.callbacks.Callback):
    """Adds scores of real translations to the logs every few epochs.

    Args:
        measure: callable of the model that returns `{name: score}`.
        every: int, epochs between measurements.
    """

    def __init__(
        self, measure: Callable[[keras.Model], dict], every: int
    ) -> None:
        super().__init__()
        self._measure = measure
        self._every = every

    def on_epoch_end(self, epoch: int, logs: dict) -> None:
        scores = self.scores(self.model, epoch)
        logs.update({f"val_{name}": value for name, value in scores.items()})

    def scores(self, model: keras.Model, epoch: int) -> dict:
        """Scores of the model after an epoch, 0 the first; `{}` if not due."""
        if (epoch + 1) % self._every:
            return {}
        # The other hosts wait: all have to decide by the same scores.
        return hosts.from_chief(hosts.by_chief(self._measure)(model))


def _are_finite(scores, *names):
    """True if no score of these names is NaN or infinite."""
    return all(math.isfinite(scores.get(name, 0.0)) for name in names)


class KeepBest(keras.callbacks.Callback):
    """Saves the best and the newest weights; stops when patience is lost.

    `training.best_by` decides which weights are best; without a dev set it is
    the newest, as the training loss falls in nearly every epoch. An average of
    epochs becomes the best if it scores better than every epoch so far. Where
    the newest weights are the best, it does if its dev loss isn't above theirs,
    as early in training each epoch is far better than those before.

    Args:
        run: `Run`.
        has_dev: whether there is a dev set.

    Attributes:
        finished: number of epochs that have ended.
        diverged: whether weights are NaN or infinite. Training then ends, as no
            step makes them finite again.
        memory: the state that a checkpoint keeps.
    """

    def __init__(self, run: Run, has_dev: bool) -> None:
        super().__init__()
        training = run.config.training
        self._run = run
        by = training.best_by if has_dev else "last"
        self._score, self._more_is_better = _CRITERIA[by]
        self._patience = training.early_stopping
        self._averages = training.average_epochs
        self.finished = 0
        self.diverged = False
        # Best score, its epoch, and the newest epoch that was scored.
        self.memory: dict[str, Any] = {
            "best": None,
            "best_epoch": None,
            "scored": None,
        }

    def on_epoch_end(self, epoch: int, logs: dict) -> None:
        scores = {key: float(value) for key, value in logs.items()}
        own = scores.get(f"val_{self._score}")
        average = scores.get(f"val_average_{self._score}")
        if self._score == "epoch":
            # The newest, unless training has diverged.
            good = _are_finite(scores, "loss", "val_cross_entropy")
            own = float(epoch) if good else None
            averaged = good and self._is_good_average(scores, epoch)
            average = epoch + 0.5 if averaged else None
        if own is not None:
            self.memory["scored"] = epoch
        if self._improves(own, epoch):
            self._run.save_weights(self.model, "best", epoch + 1, scores)
            self._run.record_scores("best", {"epoch": epoch + 1, **scores})
        if self._improves(average, epoch):
            self._run.promote_average()
        self._run.save_weights(self.model, "last", epoch + 1, scores)
        self.finished = epoch + 1
        # In float16 a loss may be NaN although the step was skipped.
        self.diverged = not _are_finite(
            scores, "loss", "val_cross_entropy"
        ) and not all(
            np.isfinite(keras.ops.convert_to_numpy(weight)).all()
            for weight in self.model.trainable_weights
        )
        if self.exhausted() or self.diverged:
            self.model.stop_training = True

    def _is_good_average(self, scores, epoch):
        """True if the mean of the last epochs is as good as the newest."""
        own = scores.get("val_cross_entropy")
        if own is None:  # Without a dev loss: not early in training.
            return 0 < 2 * self._averages <= epoch + 1
        return scores.get("val_average_cross_entropy", math.nan) <= own

    def _improves(self, score, epoch):
        """True if the score is the best so far; it is then remembered."""
        best = self.memory["best"]
        if score is None or math.isnan(score):
            return False
        if best is not None:
            better = score > best if self._more_is_better else score < best
            if not better:
                return False
        self.memory.update(best=score, best_epoch=epoch)
        return True

    def exhausted(self) -> bool:
        """True if the finished epochs were enough to lose patience.

        Epochs after the newest score don't count: they may prove better.
        """
        best, scored = self.memory["best_epoch"], self.memory["scored"]
        if scored is None:
            return False
        waited = scored + 1 if best is None else scored - best
        return 0 < self._patience <= waited
