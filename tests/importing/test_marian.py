"""Imported models against real Marian's translations of the same files.

`scripts/fixtures/marian_nbest.py` made them.
"""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.constants import END_ID
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.text.tokenizer import frame
from keras_transformer.translation.translator import Translator
from tests.importing.conftest import FIXTURES

SEARCHES = pytest.mark.parametrize(
    ("name", "beam_size"), [("greedy", 1), ("beam", 4)]
)


@pytest.fixture(scope="module")
def nbest():
    path = FIXTURES / "original" / "nbest.json"
    return json.loads(path.read_text("utf-8"))


@pytest.fixture(scope="module")
def run(import_of):
    return import_of("original")


@pytest.fixture(scope="module")
def model(run):
    return run.load_model()


def ids_of(rows, run):
    """Marian's pieces as ids of this package."""
    ids = {piece: i for i, piece in enumerate(run.target_tokenizer.tokens())}
    return [[ids[piece] for piece in row["pieces"]] for row in rows]


@SEARCHES
def test_log_probabilities_are_those_of_marian(
    name, beam_size, nbest, run, model
):
    source_ids = frame(run.source_tokenizer.tokenize(nbest["sources"]))
    target_ids = frame(tf.ragged.constant(ids_of(nbest[name], run), tf.int32))
    logits, _ = IncrementalTransformer(model).predict(
        source_ids.to_tensor(), target_ids[:, :-1].to_tensor()
    )
    logits = logits.numpy().astype(float)
    logits -= np.log(np.exp(logits).sum(-1, keepdims=True))
    for row, labels, expected in zip(
        logits, target_ids[:, 1:].to_list(), nbest[name], strict=True
    ):
        ours = row[np.arange(len(labels)), labels].sum()
        assert ours == pytest.approx(expected["log_probability"], abs=1e-4)


@SEARCHES
def test_best_translations_are_those_of_marian(
    name, beam_size, nbest, run, model
):
    config = dataclasses.replace(
        run.config.decoding,
        beam_size=beam_size,
        max_length_ratio=4.0,
        max_length_offset=0,
    )
    translator = Translator.from_run(run, model, config)
    source = translator.prepare(tf.constant(nbest["sources"]))
    result = translator.search(source, num_hypotheses=1)
    assert result.ids.shape[0] == len(nbest[name])
    for ids, score, expected, row in zip(
        result.ids.numpy()[:, 0].tolist(),
        result.scores.numpy()[:, 0],
        ids_of(nbest[name], run),
        nbest[name],
        strict=True,
    ):
        assert ids[: ids.index(END_ID)] == expected
        assert score == pytest.approx(row["score"], abs=1e-4)
