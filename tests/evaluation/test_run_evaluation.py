import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.api.evaluation import measure_ctranslate2
from keras_transformer.config import Config
from keras_transformer.constants import PAD_ID, SPECIAL_TOKENS
from keras_transformer.errors import InputError
from keras_transformer.evaluation.run_evaluation import (
    cross_entropy,
    evaluation_of,
)
from keras_transformer.text.character import CharacterTokenizer
from keras_transformer.translation.request import Hypothesis, Translation

TABLE = tf.random.stateless_normal([9, 9], [1, 2])
LABELS = [[4, 5, 6, 3], [7, 3], [8, 8, 3], [3]]


def model(features, training):
    """Logits that depend on the last token only."""
    if training:
        raise ValueError("evaluation runs the model in training mode")
    return tf.gather(TABLE, features["target_ids"])


def batch(rows, extra=0):
    """A batch padded to its longest row, and `extra` positions more."""
    width = max(map(len, rows)) + extra
    labels = np.full([len(rows), width], PAD_ID, np.int32)
    for row, ids in zip(labels, rows, strict=True):
        row[: len(ids)] = ids
    inputs = np.pad(labels[:, :-1], [(0, 0), (1, 0)], constant_values=2)
    features = {"source_ids": inputs, "target_ids": inputs}
    return tf.nest.map_structure(tf.constant, (features, labels))


def expected():
    values = []
    log_softmax = tf.nn.log_softmax(tf.cast(TABLE, tf.float64)).numpy()
    for row in LABELS:
        for last, token in zip([2, *row[:-1]], row, strict=True):
            values.append(-log_softmax[last, token])
    return np.mean(values)


@pytest.mark.parametrize(
    "batches",
    [
        [batch(LABELS)],
        [batch(LABELS[:1]), batch(LABELS[1:])],
        [batch(LABELS[:3], extra=5), batch(LABELS[3:])],
        [batch([row]) for row in reversed(LABELS)],
    ],
    ids=["one batch", "unequal batches", "more padding", "singly"],
)
def test_mean_over_tokens_whatever_the_batches(batches):
    value, tokens = cross_entropy(model, batches)
    assert tokens == 10
    assert value == pytest.approx(expected(), rel=1e-6)


def test_nothing_is_refused():
    with pytest.raises(InputError, match="0 target tokens"):
        cross_entropy(model, [])


class Blind:
    """A translator that sees nothing of the source "-"."""

    placeholders = None

    def __init__(self, framed):
        model = {"source_start": framed, "source_end": framed}
        self.config = Config().updated({"model": model})
        self.decoding = self.config.decoding

        self.target_tokenizer = CharacterTokenizer([*SPECIAL_TOKENS, "x"])

    def results(self, texts):
        return [Translation(text, [Hypothesis("x", 0.0)]) for text in texts]

    def target_ids(self, translations):
        return [[4] for _ in translations]

    def token_log_probabilities(self, texts, targets):
        return [[-1.0, -2.0] if text != "-" else [0.0, 0.0] for text in texts]


def test_pairs_of_which_ctranslate2_sees_nothing_do_not_count():
    columns = ["a", "-", "b"], ["x"] * 3
    found = measure_ctranslate2(Blind(False), columns)
    assert (found.cross_entropy, found.tokens) == (1.5, 4)
    found = measure_ctranslate2(Blind(True), columns)
    assert (found.cross_entropy, found.tokens) == (1.0, 6)
    with pytest.raises(InputError, match="no source has a token"):
        measure_ctranslate2(Blind(False), (["-"], ["x"]))


@pytest.mark.parametrize(("longest", "truncated"), [(2, 1), (3, 0)])
def test_references_are_truncated_by_the_model_that_reads_them(
    longest, truncated
):
    model = Blind(True)
    columns = ["a", "b"], ["x", "xx"]
    found = evaluation_of(
        *((1.0, 5), model.results, columns, columns[1]),
        *(model, longest, model.decoding, None, None),
    )
    assert found.truncated == truncated
