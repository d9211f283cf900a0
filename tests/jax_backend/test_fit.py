"""`fit` on JAX: the same seed, resumes, options, and what the host reads."""

import jax
import numpy as np
import pytest

from keras_transformer.training.checkpoint import Interrupted
from keras_transformer.training.fit import fit
from keras_transformer.training.observer import Observer
from tests.toy_models import (
    Recorder,
    assert_same_weights,
    fit_in_two_parts,
    fit_watched,
)


@pytest.fixture(scope="module")
def whole(prepared, new_run):
    """A run of three epochs that nothing interrupts, but much watches."""
    run = new_run(training={"bleu_every": 2})
    return run, *fit_watched(run, prepared)


def test_loss_falls_and_everything_is_written(whole):
    run, _, recorder = whole
    lines = run.history()
    assert [line["epoch"] for line in lines] == [1, 2, 3]
    assert lines[-1]["val_cross_entropy"] < lines[0]["val_cross_entropy"]
    for key in ("tokens_per_second", "learning_rate", "seconds", "loss"):
        assert lines[-1][key] > 0
    assert [line.get("val_bleu") for line in lines] == [None, 12.5, None]
    assert run.config.training.length_buckets == "few"
    assert run.config.training.threads == 1
    losses = [loss for _, _, loss in recorder.steps]
    assert losses[-1] < losses[0]


def test_last_and_best_weights_are_the_model(whole):
    run, model, _ = whole
    for which in ("last", "best"):
        assert_same_weights((model, run.load_model(which)))


def test_the_same_seed_gives_the_same_run(whole, prepared, new_run):
    _run, model, recorder = whole
    theirs = Recorder()
    told = fit(new_run(), prepared, observer=theirs, verbose=1)
    assert_same_weights((model, told))
    assert theirs.steps == recorder.steps


@pytest.mark.parametrize("stop_after", [3, 14])
def test_an_interrupted_run_goes_on_as_if_never_stopped(
    prepared, new_run, whole, stop_after
):
    run = new_run()
    model = fit_in_two_parts(run, prepared, stop_after)
    assert_same_weights((model, whole[1]), 1e-6)
    losses = [[line["loss"] for line in r.history()] for r in (run, whole[0])]
    np.testing.assert_allclose(*losses, rtol=1e-6)


def test_no_step_is_read_that_is_not_looked_at(
    prepared, config, new_run, monkeypatch
):
    read = []
    array = type(jax.numpy.ones(()))
    plain = array.__float__
    monkeypatch.setattr(
        array, "__float__", lambda self: read.append(1) or plain(self)
    )
    counts = []
    for observer in (Observer(), Recorder()):
        run = new_run()
        del read[:]
        fit(run, prepared, observer=observer)
        counts.append(len(read))
    epochs, steps = config.training.epochs, 14 * config.training.epochs
    assert counts[0] <= 12 * epochs
    assert counts[1] >= counts[0] + steps


@pytest.mark.slow
@pytest.mark.parametrize(
    "training",
    [
        {"accumulate_steps": 3, "gradient_clip": 1.0},
        {"precision": "mixed_float16"},
        {"precision": "mixed_bfloat16", "freeze": ["encoder_layer_*"]},
        {"label_smoothing": 0.0, "early_stopping": 1},
    ],
    ids=lambda training: " ".join(training),
)
def test_options_train_and_go_on(prepared, new_run, training):
    run, parts = (new_run(training=training) for _ in range(2))
    model = fit(run, prepared)
    losses = [line["val_cross_entropy"] for line in run.history()]
    assert min(losses[1:]) < losses[0]  # Of a toy, it rises and falls.
    resumed = fit_in_two_parts(parts, prepared, 20)
    assert_same_weights((model, resumed), 1e-5)


def test_a_stop_is_a_checkpoint(prepared, new_run):
    run, recorder = new_run(), Recorder(2)
    with pytest.raises(Interrupted):
        fit(run, prepared, observer=recorder, stop_requested=recorder.stop)
    assert (run.folder / "checkpoint.npz").is_file()
