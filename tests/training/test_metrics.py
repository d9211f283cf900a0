import math

import keras
import numpy as np
import pytest

from keras_transformer.training.loss import SmoothedCrossEntropy
from keras_transformer.training.metrics import (
    CrossEntropy,
    Perplexity,
    StepMean,
    TokenAccuracy,
)

# Two batches of unequal size and padding: averages of averages would differ.
LABELS = (np.array([[4, 3]]), np.array([[5, 0, 0], [4, 6, 3]]))
RNG = np.random.default_rng(1)
LOGITS = tuple(RNG.normal(size=(*y.shape, 7)) for y in LABELS)


def expected_mean(values):
    real = [v[y != 0] for v, y in zip(values, LABELS, strict=True)]
    return np.concatenate(real).mean()


def nll(labels, logits):
    log_sum = np.log(np.exp(logits).sum(-1))
    true = np.take_along_axis(logits, labels[..., None], -1)[..., 0]
    return log_sum - true


def measured(metric):
    for labels, logits in zip(LABELS, LOGITS, strict=True):
        metric.update_state(labels, logits)
    return float(metric.result())


def test_cross_entropy_is_per_real_token_over_all_batches():
    values = [nll(y, z) for y, z in zip(LABELS, LOGITS, strict=True)]
    assert measured(CrossEntropy()) == pytest.approx(expected_mean(values))


def test_only_the_ratios_of_weights_matter():
    found = []
    for scale in (1.0, 1e-3):
        metric = CrossEntropy()
        metric.update_state(LABELS[1], LOGITS[1], scale * np.array([1.0, 3.0]))
        found.append(float(metric.result()))
    assert found[0] == pytest.approx(found[1], rel=1e-5)


def test_perplexity_is_its_exponential():
    expected = math.exp(measured(CrossEntropy()))
    assert measured(Perplexity()) == pytest.approx(expected, rel=1e-5)


def test_accuracy_counts_real_tokens():
    values = [
        (z.argmax(-1) == y).astype(float)
        for y, z in zip(LABELS, LOGITS, strict=True)
    ]
    assert measured(TokenAccuracy()) == pytest.approx(expected_mean(values))


def test_padding_may_be_impossible():
    logits = LOGITS[1].copy()
    logits[..., 0] = -np.inf
    metric = CrossEntropy()
    metric.update_state(LABELS[1], logits)
    assert math.isfinite(float(metric.result()))


def test_the_mean_of_many_steps_is_exact():
    floatx = keras.config.floatx()
    keras.config.set_floatx("float16")
    try:
        metric = StepMean(name="loss")
    finally:
        keras.config.set_floatx(floatx)
    assert {variable.dtype for variable in metric.variables} == {"float32"}


@pytest.mark.parametrize(
    ("kind", "better"),
    [
        (CrossEntropy, keras.ops.less),
        (Perplexity, keras.ops.less),
        (TokenAccuracy, keras.ops.greater),
    ],
)
def test_callbacks_know_which_way_is_better(kind, better):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Embedding(7, 7)])
    model.compile("sgd", SmoothedCrossEntropy(), metrics=[kind()])
    callback = keras.callbacks.EarlyStopping(f"val_{kind().name}")
    pairs = LABELS[1], LABELS[1]
    model.fit(*pairs, validation_data=pairs, callbacks=[callback], verbose=0)
    assert callback.monitor_op is better


@pytest.mark.parametrize("kind", [CrossEntropy, Perplexity, TokenAccuracy])
def test_every_metric(kind):
    # Sums are float32 also where `floatx` is of 16 bits.
    metric = kind(dtype="float16")
    assert {variable.dtype for variable in metric.variables} == {"float32"}
    assert kind.from_config(metric.get_config()).name == metric.name
    with pytest.raises(ValueError, match="0 or more. Received: -1"):
        kind(padding_id=-1)
