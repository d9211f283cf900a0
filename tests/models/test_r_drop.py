"""Training on two passes of the same batch."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import ModelConfig
from keras_transformer.models import build_transformer
from keras_transformer.models.transformer import symmetric_divergence
from keras_transformer.training.loss import SmoothedCrossEntropy
from keras_transformer.training.metrics import CrossEntropy

DROPOUTS = ("dropout", "attention_dropout", "feedforward_dropout")


def build(dropout, r_drop=0.0, parts=1):
    config = ModelConfig(
        num_encoder_layers=1,
        num_decoder_layers=1,
        d_model=8,
        num_heads=2,
        d_ff=16,
        max_length=12,
        **dict.fromkeys(DROPOUTS, dropout),
    )
    return build_transformer(config, 9, 9, micro_batches=parts, r_drop=r_drop)


def batch(size=3):
    random = np.random.default_rng(1)
    ids = random.integers(4, 9, (2, size, 6)).astype("int32")
    ids[:, size // 2 :, 4:] = 0
    features = {"source_ids": ids[0], "target_ids": ids[1, :, :-1]}
    return features, ids[1, :, 1:]


def softmax(x):
    exponentials = np.exp(x - x.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def test_divergence_is_the_mean_of_both_directions_per_real_token():
    random = np.random.default_rng(2)
    logits = random.normal(size=(4, 3, 5)).astype("float32")
    labels = np.array([[3, 4, 0], [4, 0, 0]])
    p, q = softmax(logits[:2]), softmax(logits[2:])
    forward = (p * np.log(p / q)).sum(-1)
    backward = (q * np.log(q / p)).sum(-1)
    real = labels != 0
    expected = ((forward + backward) / 2)[real].mean()
    assert expected > 0.1
    found = symmetric_divergence(labels, logits)
    assert float(found) == pytest.approx(expected, rel=1e-5)
    weighted = symmetric_divergence(labels, logits, real * [[1], [0]])
    only_first = ((forward + backward) / 2)[0, :2].mean()
    assert float(weighted) == pytest.approx(only_first, rel=1e-5)
    a_sentence = symmetric_divergence(labels, logits, np.array([0.01, 0]))
    assert float(a_sentence) == pytest.approx(only_first, rel=1e-5)
    moved = logits + random.normal(size=(4, 3, 1)).astype("float32")
    assert float(symmetric_divergence(labels, moved)) == pytest.approx(
        expected, rel=1e-4
    )


def test_a_call_in_training_gives_two_passes_with_other_dropout():
    model = build(0.5, r_drop=1.0)
    features, _ = batch()
    first, second = np.split(np.array(model(features, training=True)), 2)
    assert first.shape == (3, 5, 9)
    assert np.abs(first - second).max() > 1e-3
    assert model(features, training=False).shape == (3, 5, 9)


@pytest.mark.parametrize("parts", [1, 2])
def test_loss_is_the_mean_of_both_passes_and_their_divergence(parts):
    model = build(0.5, r_drop=3.0, parts=parts)
    loss = SmoothedCrossEntropy(0.1)
    model.compile("sgd", loss, jit_compile=False)
    features, labels = batch()
    logits = model(features, training=True)
    first, second = tf.split(logits, 2)
    expected = (loss(labels, first) + loss(labels, second)) / 2
    expected += 3.0 * symmetric_divergence(labels, logits)
    found = model.compute_loss(features, labels, logits)
    assert float(found) == pytest.approx(float(expected), rel=1e-5)
    weights = np.array([[1.0], [0.0], [2.0]])
    weighted = model.compute_loss(features, labels, logits, weights)
    expected = loss(
        np.concatenate([labels] * 2), logits, np.tile(weights, (2, 1))
    )
    expected += 3.0 * symmetric_divergence(labels, logits, weights)
    assert float(weighted) == pytest.approx(float(expected), rel=1e-5)


@pytest.mark.medium
def test_without_dropout_training_is_the_same():
    results = []
    features, labels = batch()
    for r_drop in (0.0, 5.0):
        model = build(0.0, r_drop)
        model.set_weights(
            [
                np.random.default_rng(3).normal(0, 0.3, w.shape)
                for w in model.weights
            ]
        )
        metric = CrossEntropy()
        model.compile(
            "sgd",
            SmoothedCrossEntropy(0.1),
            metrics=[metric],
            jit_compile=False,
            # The graph of interest is that of both passes.
            run_eagerly=not r_drop,
        )
        losses = model.fit(features, labels, epochs=3, verbose=0).history
        results.append([losses["loss"], losses["cross_entropy"]])
        # Tokens of the corpus, not those of both passes.
        assert float(metric.count) == (labels != 0).sum()
    np.testing.assert_allclose(results[0], results[1], rtol=1e-4)


def test_evaluation_is_a_single_pass_without_the_divergence():
    features, labels = batch()
    plain, dropped = build(0.5), build(0.5, r_drop=4.0)
    dropped.set_weights(plain.get_weights())
    scores = []
    for model in (plain, dropped):
        model.compile(
            "sgd",
            SmoothedCrossEntropy(0.1),
            metrics=[CrossEntropy()],
            jit_compile=False,
        )
        scores.append(model.evaluate(features, labels, verbose=0))
    np.testing.assert_allclose(scores[0], scores[1], rtol=1e-6)


@pytest.mark.slow
def test_training_brings_the_passes_together():
    features, labels = batch(8)
    apart = []
    for r_drop in (0.0, 10.0):
        model = build(0.3, r_drop)
        model.set_weights(
            [
                np.random.default_rng(3).normal(0, 0.3, w.shape)
                for w in model.weights
            ]
        )
        model.compile("adam", SmoothedCrossEntropy(0.1), jit_compile=False)
        model.fit(features, labels, epochs=40, verbose=0)
        passes = build(0.3, 1.0)
        passes.set_weights(model.get_weights())
        logits = [passes(features, training=True) for _ in range(4)]
        divergences = [symmetric_divergence(labels, each) for each in logits]
        apart.append(np.mean(divergences))
    assert apart[1] < 0.7 * apart[0]
