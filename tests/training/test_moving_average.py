"""Training with a moving average of the weights."""

import pytest

from keras_transformer.data.batching import evaluation_batches
from keras_transformer.evaluation.run_evaluation import cross_entropy
from keras_transformer.training.compiling import compile_model
from keras_transformer.training.fit import fit
from keras_transformer.training.run import Run
from tests.toy_models import (
    Recorder,
    assert_same_weights,
    difference,
    fit_in_two_parts,
    weights_of,
)

pytestmark = pytest.mark.medium

MOMENTUM = 0.8


@pytest.fixture(scope="module")
def ema(config):
    return config.updated({"training": {"ema": MOMENTUM, "epochs": 2}})


@pytest.fixture(scope="module")
def plain(prepared, config, tmp_path_factory):
    """Losses of the steps of a run without it."""
    config = config.updated({"training": {"epochs": 2}})
    folder = tmp_path_factory.mktemp("plain") / "run"
    recorder = Recorder()
    fit(Run.create(folder, config, prepared), prepared, observer=recorder)
    return recorder.steps


class Copies(Recorder):
    """Keeps the weights of the model after each step."""

    def start(self, model, batches):
        self.model = model
        self.weights = []

    def step(self, epoch, batch, logs):
        super().step(epoch, batch, logs)
        self.weights.append(weights_of(self.model))


@pytest.fixture(scope="module")
def averaged(prepared, ema, tmp_path_factory):
    run = Run.create(tmp_path_factory.mktemp("ema") / "run", ema, prepared)
    recorder = Copies()
    return run, fit(run, prepared, observer=recorder), recorder


def test_training_goes_on_with_the_weights_themselves(averaged, plain):
    steps = averaged[2].steps
    assert [step[2] for step in steps] == pytest.approx(
        [step[2] for step in plain], abs=1e-3
    )


def test_dev_scores_and_saved_weights_are_the_averages(averaged, prepared):
    run, model, _ = averaged
    dev = evaluation_batches(prepared, "dev")
    assert_same_weights((model, run.load_model("last")))
    losses = [line["val_cross_entropy"] for line in run.history()]
    for which, scored in (("last", losses[-1]), ("best", min(losses))):
        loss, _ = cross_entropy(run.load_model(which), dev)
        assert scored == pytest.approx(loss, rel=1e-4)


def test_the_average_follows_the_updates(averaged):
    _, model, copies = averaged
    expected = None
    for weights in copies.weights:
        expected = expected or weights
        expected = [
            MOMENTUM * average + (1 - MOMENTUM) * weight
            for average, weight in zip(expected, weights, strict=True)
        ]
    assert difference(weights_of(model), expected) < 1e-5
    assert difference(copies.weights[-1], expected) > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("stop_after", [10, 20])
def test_a_resumed_run_ends_the_same(
    averaged, ema, prepared, tmp_path, stop_after
):
    run, model = fit_in_two_parts(tmp_path / "run", ema, prepared, stop_after)
    assert_same_weights((model, averaged[1]), 1e-4)
    assert_same_weights((model, run.load_model("last")))


@pytest.mark.slow
def test_goes_with_accumulation_epoch_averages_and_mixed_precision(
    prepared, ema, tmp_path
):
    config = ema.updated(
        {
            "training": {
                "accumulate_steps": 2,
                "average_epochs": 2,
                "precision": "mixed_float16",
            }
        }
    )
    run = Run.create(tmp_path / "run", config, prepared)
    fit(run, prepared)
    losses = [line["val_average_cross_entropy"] for line in run.history()]
    assert losses[-1] < losses[0]


def test_accumulating_batches_averages_as_fast(prepared, ema, tmp_path):
    config = ema.updated({"training": {"ema": 0.81, "accumulate_steps": 2}})
    model = Run.create(tmp_path / "run", config, prepared).build_model()
    compile_model(model, config.training, config.model.d_model)
    assert model.optimizer.ema_momentum == pytest.approx(0.9)
