"""One run on two backends: losses, weights, checkpoints, batches."""

import json

import numpy as np
import pytest

from keras_transformer.training.checkpoint import Interrupted
from keras_transformer.training.fit import fit
from keras_transformer.training.run import Run
from tests.on_jax import run_on_jax
from tests.toy_models import NO_DROPOUT, Recorder

TRAIN = """
import json, sys
from keras_transformer.cli.console import load_jax
load_jax()
from keras_transformer.data.prepared import PreparedData
from keras_transformer.training.checkpoint import Interrupted
from keras_transformer.training.fit import fit
from keras_transformer.training.run import Run
from tests.toy_models import Recorder
folder, data, stop, resume = sys.argv[1:]
recorder = Recorder(float(stop), "cross_entropy")
try:
    fit(Run.load(folder), PreparedData.load(data), resume=resume == "True",
        observer=recorder, stop_requested=recorder.stop)
except Interrupted:
    pass
print(json.dumps(recorder.steps))
"""


def train(backend, run, data, stop=float("inf"), resume=False):
    """Trains a run; epoch, batch and cross-entropy of each step.

    Keras' mean of the losses counts the pairs of a batch, those without tokens
    included: it depends on padding.
    """
    if backend == "jax":
        options = run.folder, data.path, stop, resume
        done = run_on_jax("-c", TRAIN, *options, timeout=1800)
        assert done.returncode == 0, done.stderr[-3000:]
        return [tuple(step) for step in json.loads(done.stdout)]
    recorder = Recorder(stop, "cross_entropy")
    try:
        fit(
            Run.load(run.folder),
            data,
            resume=resume,
            observer=recorder,
            stop_requested=recorder.stop,
        )
    except Interrupted:
        pass
    return recorder.steps


@pytest.fixture(scope="module")
def create(new_run):
    """Makes runs that differ in their training section.

    They start from the same weights: initial ones of TensorFlow.
    """
    initial = new_run(model=NO_DROPOUT)
    initial.save_weights(initial.build_model(), "best", 1, {})

    def create(**training):
        # At a rate that lets no rounding grow into another course.
        calm = {"learning_rate": 0.01, "epochs": 2, **training}
        return new_run(initial, model=NO_DROPOUT, training=calm)

    return create


@pytest.fixture(scope="module")
def whole(create, prepared):
    """The steps of a run that stays on TensorFlow."""
    return train("tensorflow", create(), prepared)


def losses(steps):
    return [loss for _, _, loss in steps]


OPTIONS = [
    {"length_buckets": "exact"},
    {"length_buckets": "few"},
    {"accumulate_steps": 3, "gradient_clip": 0.5},
    {"threads": 2, "label_smoothing": 0.0},
    {"guided_alignment": 0.5, "threads": 2},
    {"freeze": ("encoder_layer_*",), "average_epochs": 2},
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "training", OPTIONS, ids=lambda training: " ".join(training)
)
def test_losses_are_the_same(training, create, prepared):
    runs, steps = [], []
    for backend in ("tensorflow", "jax"):
        runs.append(create(**training))
        steps.append(train(backend, runs[-1], prepared))
    assert [step[:2] for step in steps[0]] == [step[:2] for step in steps[1]]
    np.testing.assert_allclose(*map(losses, steps), rtol=1e-4)
    lines = [run.history()[-1] for run in runs]
    assert set(lines[0]) == set(lines[1])
    for name in lines[0]:
        if name not in ("loss", "seconds", "tokens_per_second"):
            assert lines[1][name] == pytest.approx(lines[0][name], rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second"), [("jax", "tensorflow"), ("tensorflow", "jax")]
)
def test_a_run_goes_on_on_the_other_backend(
    first, second, create, prepared, whole
):
    """The same pairs in the same batches, in other shapes on JAX."""
    parts = create()
    steps = train(first, parts, prepared, stop=18)
    assert len(steps) == 18
    steps += train(second, parts, prepared, resume=True)
    assert [step[:2] for step in steps] == [step[:2] for step in whole]
    np.testing.assert_allclose(losses(steps), losses(whole), rtol=1e-4)
    # Weights differ: Adam makes steps of a full rate of what is rounding alone,
    # such as the gradient of a key's bias, to which a softmax is blind.
