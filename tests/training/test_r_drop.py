"""A run with R-Drop."""

import pytest

from keras_transformer.training.fit import Observer, fit
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
