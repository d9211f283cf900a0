"""A run with R-Drop."""

import pytest

from keras_transformer.training.fit import fit
from keras_transformer.training.observer import Observer
from keras_transformer.training.run import Run
from tests.toy_models import assert_same_weights, fit_in_two_parts


@pytest.mark.slow  # of one batch: tests/models/test_r_drop.py
def test_progress_counts_tokens_of_the_corpus(prepared, config, tmp_path):
    config = config.updated({"training": {"r_drop": 2.0, "epochs": 1}})
    run = Run.create(tmp_path / "run", config, prepared)
    counts = []

    class Counting(Observer):
        def start(self, model, batches):
            self.model = model

        def step(self, epoch, batch, logs):
            values = [float(v) for v in self.model.metrics_variables]
            counts.append(values)

    fit(run, prepared, observer=Counting())
    # END counts beside the target's tokens.
    lengths = prepared.lengths("train")[:, 1]
    tokens = float(lengths.sum() + len(lengths))
    assert tokens in counts[-1]
    assert 2 * tokens not in counts[-1]


@pytest.mark.slow
def test_it_begins_after_epochs_without_it(prepared, config, tmp_path):
    losses = {}
    for name, options in {
        "without": {},
        "later": {"r_drop": 5.0, "r_drop_after": 1},
    }.items():
        options = {"training": {"epochs": 2, **options}}
        run = Run.create(tmp_path / name, config.updated(options), prepared)
        fit(run, prepared)
        losses[name] = [line["loss"] for line in run.history()]
    assert losses["later"][0] == pytest.approx(losses["without"][0], rel=1e-4)
    # The divergence is a part of the loss.
    assert losses["later"][1] > losses["without"][1] + 0.05


@pytest.mark.slow
@pytest.mark.parametrize("stop_after", [4, 14])
def test_a_run_resumed_before_or_after_it_begins(
    prepared, config, tmp_path, stop_after
):
    config = config.updated({"training": {"r_drop": 2.0, "r_drop_after": 1}})
    run = Run.create(tmp_path / "whole", config, prepared)
    whole = fit(run, prepared)
    assert len(run.history()) == config.training.epochs
    parts = tmp_path / "parts"
    _, model = fit_in_two_parts(parts, config, prepared, stop_after=stop_after)
    assert_same_weights((model, whole), 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_a_resumed_run_ends_the_same(prepared, config, tmp_path, threads):
    config = config.updated({"training": {"r_drop": 2.0, "threads": threads}})
    run = Run.create(tmp_path / "whole", config, prepared)
    whole = fit(run, prepared)
    losses = [line["val_cross_entropy"] for line in run.history()]
    assert losses[-1] < losses[0]
    parts = tmp_path / "parts"
    run, model = fit_in_two_parts(parts, config, prepared, stop_after=14)
    assert_same_weights((model, whole), 1e-4)
