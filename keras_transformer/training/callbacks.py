"""What happens around the steps and epochs of `fit`: reporting, resuming."""

import time

import keras

from keras_transformer.training.checkpoint import (
    load_checkpoint,
    save_checkpoint,
)


class Interrupted(KeyboardInterrupt):
    """Training was asked to stop, and stopped with a checkpoint written."""


class Speed(keras.callbacks.Callback):
    """Adds learning rate, target tokens per second and seconds to the logs.

    Args:
        cross_entropy: the compiled `CrossEntropy`, whose count of real
            tokens is the measure.
    """

    def __init__(self, cross_entropy):
        super().__init__()
        self._cross_entropy = cross_entropy
        self.seconds_before = 0.0  # spent on this epoch before a resume

    def on_epoch_begin(self, epoch, logs=None):
        self._start = time.perf_counter()
        self._train_seconds = 0.0
        self._first_count = self._count = 0.0

    def on_train_batch_begin(self, batch, logs=None):
        if batch == 0:  # a resumed epoch's earlier tokens are in by now
            self._first_count = float(self._cross_entropy.count)

    def on_train_batch_end(self, batch, logs=None):
        self._train_seconds = time.perf_counter() - self._start
        self._count = float(self._cross_entropy.count)
        if logs is not None:
            logs.update(self._readings())

    def on_epoch_end(self, epoch, logs=None):
        logs.update(self._readings())
        logs["seconds"] = self.seconds()
        self.seconds_before = 0.0

    def seconds(self):
        """Seconds spent on the present epoch, resumed parts included."""
        return self.seconds_before + time.perf_counter() - self._start

    def _readings(self):
        tokens = self._count - self._first_count
        rate = tokens / self._train_seconds if self._train_seconds else 0.0
        return {
            "learning_rate": float(self.model.optimizer.learning_rate),
            "tokens_per_second": rate,
        }


class Position(keras.callbacks.Callback):
    """Tells the batches which epoch to read.

    Args:
        batches: `TrainingBatches`; `first_batch` is where a resumed epoch
            goes on, and 0 for every later one.
    """

    def __init__(self, batches):
        super().__init__()
        self._batches = batches

    def on_epoch_begin(self, epoch, logs=None):
        self._batches.epoch = epoch

    def on_epoch_end(self, epoch, logs=None):
        self._batches.first_batch = 0


class History(keras.callbacks.Callback):
    """A line per epoch in the run's history, also after a resume."""

    def __init__(self, run):
        super().__init__()
        self._run = run

    def on_epoch_end(self, epoch, logs=None):
        earlier = [e for e in self._run.history() if e["epoch"] <= epoch]
        line = {"epoch": epoch + 1}
        line.update((key, float(value)) for key, value in logs.items())
        self._run.write_history([*earlier, line])


class Report(keras.callbacks.Callback):
    """Tells an observer of each step and epoch.

    Args:
        observer: object with `step(epoch, batch, logs)`, batch counting
            from 1 in its epoch, and `epoch(epoch, logs)`; epochs count
            from 1.
    """

    def __init__(self, observer):
        super().__init__()
        self._observer = observer
        self.first_batch = 0

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch + 1

    def on_train_batch_end(self, batch, logs=None):
        self._observer.step(self._epoch, self.first_batch + batch + 1, logs)

    def on_epoch_end(self, epoch, logs=None):
        self.first_batch = 0
        self._observer.epoch(epoch + 1, logs)


class TensorBoard(keras.callbacks.Callback):
    """Scalars per epoch for TensorBoard.

    Args:
        folder: where event files are written.
    """

    def __init__(self, folder):
        super().__init__()
        self._folder = str(folder)
        self._writer = None

    def on_epoch_end(self, epoch, logs=None):
        import tensorflow as tf

        if self._writer is None:
            self._writer = tf.summary.create_file_writer(self._folder)
        with self._writer.as_default():
            for name, value in logs.items():
                tf.summary.scalar(name, float(value), step=epoch + 1)
        self._writer.flush()


class Checkpoint(keras.callbacks.Callback):
    """Writes the state every few steps, and puts it back on a resume.

    Args:
        path: the checkpoint file.
        batches: `TrainingBatches`, told where to go on.
        keep_best: `KeepBest`, whose memory is kept too.
        speed: `Speed`, whose time is kept too.
        training: `TrainingConfig`: how often to write, how many epochs.
        stop_requested: callable; once true, the step at hand is finished,
            a checkpoint written, and `Interrupted` raised.
    """

    def __init__(
        self, path, batches, keep_best, speed, training, stop_requested
    ):
        super().__init__()
        self.path = path
        self._batches = batches
        self._keep_best = keep_best
        self._speed = speed
        self._every = training.checkpoint_every
        self._epochs = training.epochs
        self._stop_requested = stop_requested
        self._resume = False
        self._done = 0  # batches of the present epoch

    def on_epoch_begin(self, epoch, logs=None):
        self._done = self._batches.first_batch
        if self._resume:
            # Keras has just reset the metrics; the interrupted epoch's
            # sums go on instead.
            load_checkpoint(self.path, self.model)
            self._resume = False

    def on_train_batch_end(self, batch, logs=None):
        done = self._done + batch + 1
        if done == self._batches.batches_per_epoch:
            return  # the end of the epoch comes first, and saves
        stop = self._stop_requested()
        if stop or (batch + 1) % self._every == 0:
            self._save(self._batches.epoch, done)
        if stop:
            raise Interrupted

    def on_epoch_end(self, epoch, logs=None):
        self._save(epoch + 1, 0)
        if self._stop_requested() and epoch + 1 < self._epochs:
            raise Interrupted

    def _save(self, epoch, batch):
        note = {
            "epoch": int(epoch),
            "batch": int(batch),
            "keep_best": self._keep_best.memory,
            "seconds": self._speed.seconds() if batch else 0.0,
        }
        save_checkpoint(self.path, self.model, note)

    def restore(self, model) -> int:
        """Puts the saved state back.

        Args:
            model: compiled model, its metrics built.

        Returns:
            the epoch to go on with, 0 first.
        """
        note = load_checkpoint(self.path, model)
        self._batches.epoch = note["epoch"]
        self._batches.first_batch = note["batch"]
        self._keep_best.memory.update(note["keep_best"])
        self._speed.seconds_before = note["seconds"]
        self._resume = note["batch"] > 0
        return note["epoch"]
