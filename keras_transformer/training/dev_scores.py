"""What is measured on the dev set beside the loss, and what is the best."""

import math

import keras

# By `training.best_by`: the name of the score, and whether more is better.
_CRITERIA = {"loss": ("cross_entropy", False), "bleu": ("bleu", True)}


class DevScores(keras.callbacks.Callback):
    """Adds scores of real translations to the logs every few epochs.

    Args:
        measure: callable of the model that returns `{name: score}`.
        every: int, epochs between measurements.
    """

    def __init__(self, measure, every):
        super().__init__()
        self._measure = measure
        self._every = every

    def on_epoch_end(self, epoch, logs=None):
        scores = self.scores(self.model, epoch)
        logs.update({f"val_{name}": value for name, value in scores.items()})

    def scores(self, model, epoch) -> dict:
        """Scores of the model after an epoch, 0 the first; `{}` if not due."""
        return self._measure(model) if (epoch + 1) % self._every == 0 else {}


class KeepBest(keras.callbacks.Callback):
    """Saves the best and the newest weights; stops when no better come.

    What is best is decided by `training.best_by`, without a dev set by the
    training loss. An average of epochs that scores better than each epoch
    so far becomes the best.

    Args:
        run: `Run`.
    """

    def __init__(self, run):
        super().__init__()
        training = run.config.training
        self._run = run
        self._score, self._more_is_better = _CRITERIA[training.best_by]
        self._patience = training.early_stopping
        # Best score, its epoch, and the newest epoch that was scored.
        self.memory = {"best": None, "best_epoch": None, "scored": None}

    def on_epoch_end(self, epoch, logs=None):
        scores = {key: float(value) for key, value in logs.items()}
        own = scores.get(f"val_{self._score}")
        if own is None and self._score == "cross_entropy":
            own = scores["loss"]
        if own is not None:
            self.memory["scored"] = epoch
        if self._improves(own, epoch):
            self._run.save_weights(self.model, "best", epoch + 1, scores)
            self._run.record_scores("best", {"epoch": epoch + 1, **scores})
        if self._improves(scores.get(f"val_average_{self._score}"), epoch):
            self._run.promote_average()
        self._run.save_weights(self.model, "last", epoch + 1, scores)
        if self.exhausted(epoch + 1):
            self.model.stop_training = True

    def _improves(self, score, epoch):
        """Whether the score is the best so far, which is then remembered."""
        best = self.memory["best"]
        if score is None or math.isnan(score):
            return False
        if best is not None:
            better = score > best if self._more_is_better else score < best
            if not better:
                return False
        self.memory.update(best=score, best_epoch=epoch)
        return True

    def exhausted(self, epochs):
        """Whether `epochs` finished epochs were enough to lose patience.

        Epochs after the newest score don't count: they may be better yet.
        """
        best, scored = self.memory["best_epoch"], self.memory["scored"]
        if scored is None:  # as in a checkpoint without that memory
            scored = epochs - 1 if self._score == "cross_entropy" else -1
        waited = scored + 1 if best is None else scored - best
        return 0 < self._patience <= waited
