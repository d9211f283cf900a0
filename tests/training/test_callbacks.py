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
        both = {"loss": 5.0, "cross_entropy": 5.0}
        keep_best.on_epoch_end(epoch, both | logs)
        assert run.last == epoch + 1
        if model.stop_training:
            stopped = epoch + 1
            break
    return run.best, stopped


def logs(name, *values):
    return [{} if value is None else {name: value} for value in values]


def test_the_lowest_loss_is_the_best():
    epochs = logs("val_cross_entropy", 3.0, 2.0, 2.0, float("nan"), 2.5)
    assert watch(epochs) == (2, None)


def test_without_dev_the_newest_is_the_best_and_patience_is_not_lost():
    epochs = logs("cross_entropy", 3.0, 1.0, 2.0, 2.0)
    options = {"has_dev": False, "early_stopping": 1}
    assert watch(epochs, **options) == (4, None)
    for epochs_averaged, best in ((2, "average at 3"), (3, 4)):
        options["average_epochs"] = epochs_averaged
        assert watch(epochs, **options) == (best, None)


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


def test_the_highest_bleu_is_the_best_whatever_the_loss():
    epochs = logs("val_bleu", 10.0, 30.0, 20.0)
    for epoch, loss in zip(epochs, (3.0, 2.0, 1.0), strict=True):
        epoch["val_cross_entropy"] = loss
    assert watch(epochs, best_by="bleu", bleu_every=1) == (2, None)
    assert watch(epochs) == (3, None)


def test_the_newest_is_the_best_where_that_is_asked():
    epochs = logs("val_cross_entropy", 3.0, 2.0, float("nan"), 2.5)
    assert watch(epochs, best_by="last") == (4, None)


@pytest.mark.parametrize(
    ("mean", "best"), [(2.6, 3), (2.5, "average at 2"), (2.4, "average at 2")]
)
def test_a_mean_that_is_no_worse_than_the_newest_is_the_best(mean, best):
    epochs = logs("val_cross_entropy", 4.0, 3.0, 2.5)
    for epoch, value in zip(epochs, (4.0, 3.5, mean), strict=True):
        epoch["val_average_cross_entropy"] = value
    options = {"best_by": "last", "average_epochs": 2}
    assert watch(epochs, **options) == (best, None)


@pytest.mark.parametrize("name", ["loss", "val_cross_entropy"])
def test_the_newest_is_not_the_best_once_training_has_diverged(name):
    nan = float("nan")
    epochs = logs(name, 3.0, 2.0, nan, nan)
    assert watch(epochs, best_by="last") == (2, None)
    for epoch in epochs[:2]:
        epoch["val_average_cross_entropy"] = 1.0
        epoch.setdefault("val_cross_entropy", 1.0)
    assert watch(epochs, best_by="last", average_epochs=2) == (
        "average at 1",
        None,
    )


def test_a_mean_with_weights_that_are_no_numbers_is_not_the_best():
    epochs = logs("val_average_cross_entropy", 3.0, float("nan"))
    for epoch in epochs:
        epoch["val_cross_entropy"] = 3.0
    assert watch(epochs, best_by="last", average_epochs=2) == (2, None)


def test_a_loss_that_is_no_number_is_never_the_best_and_uses_up_patience():
    epochs = logs("val_cross_entropy", *[float("nan")] * 5)
    assert watch(epochs, early_stopping=3) == (None, 3)


@pytest.mark.parametrize(
    ("bleu", "best", "stopped"),
    [
        # Without a score in between there is nothing to lose patience over.
        ([None, 10.0, None, 12.0, None, 13.0], 6, None),
        ([None, 10.0, None, 9.0, None, 13.0], 2, 4),
        ([None, 10.0, None, None, None, 9.0], 2, 6),
    ],
)
def test_patience_counts_to_the_newest_bleu(bleu, best, stopped):
    options = {"best_by": "bleu", "bleu_every": 2, "early_stopping": 2}
    assert watch(logs("val_bleu", *bleu), **options) == (best, stopped)


def test_an_average_is_the_best_only_where_it_beats_all_before():
    name = "val_average_cross_entropy"
    epochs = logs("val_cross_entropy", 3.0, 2.0, 1.9, 1.8)
    for epoch, value in zip(epochs, (3.0, 1.85, 1.85, 1.85), strict=True):
        epoch[name] = value
    assert watch(epochs[:1]) == (1, None)
    assert watch(epochs[:3]) == ("average at 1", None)
    assert watch(epochs) == (4, None)
