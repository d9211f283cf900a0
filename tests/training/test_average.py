"""The mean of the weights of the last epochs."""

import shutil

import numpy as np
import pytest

from keras_transformer.data.batching import evaluation_batches
from keras_transformer.errors import InputError
from keras_transformer.evaluation.run_evaluation import cross_entropy
from keras_transformer.training.averaging import EpochAverage
from keras_transformer.training.fit import fit
from keras_transformer.training.run import Run
from tests.toy_models import difference, weights_of


@pytest.fixture(scope="module")
def averaged(prepared, new_run):
    """Three epochs, of which the last two are averaged."""
    training = {"average_epochs": 2, "best_by": "bleu", "bleu_every": 1}
    run = new_run(training=training)
    # Of each epoch first its own, then that of the mean.
    scores = iter([10.0, 10.0, 11.0, 12.0, 11.5, 9.0])
    return run, fit(run, prepared, measure=lambda _: {"bleu": next(scores)})


def test_the_last_epochs_are_kept_and_their_mean(averaged):
    run, _ = averaged
    names = ("average", "best", "epoch-0002", "epoch-0003", "last")
    files = sorted(path.name for path in run.folder.glob("weights/*.h5"))
    assert files == [f"{name}.weights.h5" for name in names]
    second, third, mean = (
        weights_of(run.load_model(which))
        for which in ("epoch-0002", "epoch-0003", "average")
    )
    for one, other, between in zip(second, third, mean, strict=True):
        np.testing.assert_allclose(between, (one + other) / 2, atol=1e-6)
    assert difference(second, mean) > 1e-3


def test_the_mean_is_scored_on_dev(averaged, prepared):
    run, _ = averaged
    dev = evaluation_batches(prepared, "dev")
    loss, _ = cross_entropy(run.load_model("average"), dev)
    scored = run.history()[-1]["val_average_cross_entropy"]
    assert scored == pytest.approx(loss, rel=1e-4)
    first = run.history()[0]
    assert first["val_average_cross_entropy"] == pytest.approx(
        first["val_cross_entropy"], rel=1e-5
    )


def test_a_better_mean_becomes_the_best(averaged):
    run, _ = averaged
    assert [line["val_average_bleu"] for line in run.history()] == [10, 12, 9]
    best = run.manifest["scores"]["best"]
    assert (best["epoch"], best["averaged_epochs"]) == (2, 2)
    assert best["val_bleu"] == 12
    history = run.history()[1]
    assert best["val_cross_entropy"] == history["val_average_cross_entropy"]
    second, third = (
        weights_of(run.load_model(name)) for name in ("epoch-0002", "average")
    )
    best = weights_of(run.load_model("best"))
    assert difference(best, second) > 1e-4
    assert difference(best, third) > 1e-4


def test_a_damaged_epoch_is_named(averaged, tmp_path):
    run, model = averaged
    run = Run.load(shutil.copytree(run.folder, tmp_path / "run"))
    run.weights_path("epoch-0003").write_bytes(b"not weights")
    callback = EpochAverage(run, dev=None, dev_scores=None)
    callback.set_model(model)
    before = weights_of(model)
    with pytest.raises(InputError, match="epoch-0003.weights.h5: damaged"):
        callback.on_epoch_end(3, {})
    assert difference(weights_of(model), before) == 0
