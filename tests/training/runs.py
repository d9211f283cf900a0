"""Training that is watched, and stopped and resumed."""

import math

import numpy as np
import pytest

from keras_transformer.training.checkpoint import Interrupted
from keras_transformer.training.fit import Observer, fit
from keras_transformer.training.run import Run


class Recorder(Observer):
    """Remembers what it is told, and asks to stop after some steps."""

    def __init__(self, stop_after=math.inf):
        self.steps = []
        self.epochs = []
        self._stop_after = stop_after

    def step(self, epoch, batch, logs):
        self.steps.append((epoch, batch, float(logs["loss"])))

    def epoch(self, epoch, logs):
        self.epochs.append((epoch, dict(logs)))

    def stop(self):
        return len(self.steps) >= self._stop_after


def weights_of(model):
    return [weight.numpy() for weight in model.weights]


def assert_same_weights(models, tolerance=0.0):
    """Both models have the same weights, up to a tolerance."""
    for ours, theirs in zip(*map(weights_of, models), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance)


def difference(ours, theirs):
    """The largest difference between two lists of arrays."""
    pairs = zip(ours, theirs, strict=True)
    return max(np.abs(one - other).max() for one, other in pairs)


def fit_in_two_parts(folder, config, prepared, stop_after, **options):
    """Trains, stops after so many steps, and resumes.

    Returns:
        the run and its model.
    """
    run = Run.create(folder, config, prepared)
    recorder = Recorder(stop_after)
    stop = recorder.stop
    with pytest.raises(Interrupted):
        fit(run, prepared, observer=recorder, stop_requested=stop, **options)
    run = Run.load(folder)
    return run, fit(run, prepared, resume=True, **options)
