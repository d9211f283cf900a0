"""Which epoch is the best, and when training stops."""

import types

import keras
import pytest

from keras_transformer.config import Config
from keras_transformer.training.callbacks import KeepBest


class FakeRun:
    """Remembers what it is told to keep."""

    def __init__(self, **training):
        self.config = Config().updated({"training": training})
        self.best = None
        self.last = None

    def save_weights(self, model, which, epoch, scores):
        setattr(self, which, epoch)

    def promote_average(self):
        self.best = f"average at {self.last or 0}"

    def record_scores(self, name, scores):
        assert name == "best"
        assert scores["epoch"] == self.best


def watch(epochs, has_dev=True, **training):
    """What is best after epochs of such logs, and whether it stopped."""
    run = FakeRun(**training)
    model = types.SimpleNamespace(stop_training=False, trainable_weights=[])
    keep_best = KeepBest(run, has_dev)
    keep_best.set_model(model)
    stopped = None
    for epoch, logs in enumerate(epochs):
        losses = {"loss": 5.0, "cross_entropy": 5.0}
        keep_best.on_epoch_end(epoch, losses | logs)
        assert run.last == epoch + 1
        if model.stop_training:
            stopped = epoch + 1
            break
    return run.best, stopped


def logs(name, *values):
    return [{} if value is None else {name: value} for value in values]


def both(name, *pairs):
    """Logs of epochs whose dev losses, and what `name` says, are these."""
    return [{DEV: loss, name: other} for loss, other in pairs]


NAN = float("nan")
DEV, BLEU = "val_cross_entropy", "val_bleu"
DEV_OF_MEAN = "val_average_cross_entropy"
RISING = both(BLEU, (3.0, 10.0), (2.0, 30.0), (1.0, 20.0))
BEATEN = both(DEV_OF_MEAN, (3.0, 3.0), (2.0, 1.85), (1.9, 1.85), (1.8, 1.85))
LAST = {"best_by": "last"}
MEAN = {**LAST, "average_epochs": 2}
BY_BLEU = {"best_by": "bleu", "bleu_every": 2, "early_stopping": 2}
NO_DEV = {"has_dev": False, "early_stopping": 1}


@pytest.mark.parametrize(
    ("options", "epochs", "best", "stopped"),
    [
        ({}, logs(DEV, 3.0, 2.0, 2.0, NAN, 2.5), 2, None),
        # Without dev the newest, and patience is not lost.
        (NO_DEV, logs("cross_entropy", 3.0, 1.0, 2.0, 2.0), 4, None),
        # The mean, too, but not while training is young.
        ({**NO_DEV, "average_epochs": 2}, [{}] * 4, "average at 3", None),
        ({**NO_DEV, "average_epochs": 3}, [{}] * 4, 4, None),
        (LAST, logs(DEV, 3.0, 2.0, NAN, 2.5), 4, None),
        # Once training has diverged the newest is not the best.
        (LAST, logs(DEV, 3.0, 2.0, NAN, NAN), 2, None),
        (LAST, logs("loss", 3.0, 2.0, NAN, NAN), 2, None),
        (
            MEAN,
            both(DEV_OF_MEAN, (3.0, 3.0), (2.0, 2.0), (NAN, NAN)),
            "average at 1",
            None,
        ),
        (MEAN, both(DEV_OF_MEAN, (3.0, 3.0), (3.0, NAN)), 2, None),
        # A mean counts if it is no worse than the newest.
        (MEAN, both(DEV_OF_MEAN, (3.0, 3.0), (2.5, 2.6)), 2, None),
        (MEAN, both(DEV_OF_MEAN, (3.0, 3.0), (2.5, 2.5)), "average at 1", None),
        # Else where it beats all before.
        ({}, BEATEN[:1], 1, None),
        ({}, BEATEN[:3], "average at 1", None),
        ({}, BEATEN, 4, None),
        # The highest BLEU is the best whatever the loss.
        ({"best_by": "bleu", "bleu_every": 1}, RISING, 2, None),
        ({}, RISING, 3, None),
        # What is no number is never the best, and uses up patience.
        ({"early_stopping": 3}, logs(DEV, *[NAN] * 5), None, 3),
        # Without a score in between there is nothing to lose patience over.
        (BY_BLEU, logs(BLEU, None, 10.0, None, 12.0, None, 13.0), 6, None),
        (BY_BLEU, logs(BLEU, None, 10.0, None, 9.0, None, 13.0), 2, 4),
        (BY_BLEU, logs(BLEU, None, 10.0, None, None, None, 9.0), 2, 6),
    ],
)
def test_the_best_epoch_and_the_last(options, epochs, best, stopped):
    assert watch(epochs, **options) == (best, stopped)


def test_weights_that_are_no_numbers_end_training():
    model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)])
    keep_best = KeepBest(FakeRun(), has_dev=True)
    model.stop_training = False
    keep_best.set_model(model)
    good, bad = {"loss": 5.0, "val_cross_entropy": 5.0}, {"loss": float("nan")}
    for logs_, weight, ends in (
        (good, 1.0, False),
        (bad, 1.0, False),
        (bad, float("nan"), True),
    ):
        model.trainable_weights[0].assign([[weight]])
        keep_best.on_epoch_end(0, logs_)
        assert keep_best.diverged == ends
        assert bool(model.stop_training) == ends
