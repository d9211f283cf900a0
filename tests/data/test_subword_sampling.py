import functools

import pytest

from keras_transformer.config import Config
from keras_transformer.data.augmentation import SubwordSampling, batch_changes
from keras_transformer.data.batching import TrainingBatches
from keras_transformer.data.prepare import prepare
from tests.data.test_batching import batches_of, check_epochs
from tests.word_data import word_data


@pytest.fixture(scope="module")
def pieces(corpus, tmp_path_factory):
    """The corpus with a SentencePiece model for its sources only."""
    config = word_data(
        source_tokenizer="sentencepiece",
        target_tokenizer="character",
        source_vocabulary_size=80,
    )
    out = tmp_path_factory.mktemp("pieces") / "data"
    return prepare([corpus], out, config)


def tokenizers(prepared):
    return prepared.source_tokenizer, prepared.target_tokenizer


def training(prepared, seed=1):
    sampling = SubwordSampling(tokenizers(prepared), 0.2, (60, 60), seed)
    return TrainingBatches(
        prepared, batch_tokens=1000, shuffle_buffer=60, changes=[sampling]
    )


def texts(prepared, batches):
    """All pairs' texts, sorted."""
    pairs = []
    for features, labels in batches:
        sides = [
            tokenizer.detokenize(ids).numpy().tolist()
            for tokenizer, ids in zip(
                tokenizers(prepared),
                (features["source_ids"], labels),
                strict=True,
            )
        ]
        pairs += zip(*sides, strict=True)
    return sorted(pairs)


@pytest.mark.medium
def test_pieces_follow_from_seed_and_epoch(pieces):
    check_epochs(functools.partial(training, pieces))


def longest_sentence(prepared, changes):
    batches = TrainingBatches(prepared, batch_tokens=1000, changes=changes)
    return max(f["source_ids"].shape[1] for f, _ in batches_of(batches.dataset))


@pytest.mark.medium
def test_no_sentence_becomes_longer_than_the_model_takes(pieces):
    stored = longest_sentence(pieces, [])
    for positions in (stored, stored + 3):
        values = {
            "model": {"max_length": positions},
            "training": {"subword_sampling": 0.05},
        }
        changes = batch_changes(Config().updated(values), tokenizers(pieces))
        assert longest_sentence(pieces, changes) == positions
    free = SubwordSampling(tokenizers(pieces), 0.05, (60, 60), 1)
    assert longest_sentence(pieces, [free]) > stored + 3


def test_both_sides_are_drawn_where_both_have_pieces(corpus, tmp_path):
    config = word_data(
        source_tokenizer="sentencepiece",
        target_tokenizer="sentencepiece",
        sentencepiece_model="bpe",
        source_vocabulary_size=200,
        shared_vocabulary=True,
    )
    prepared = prepare([corpus], tmp_path / "data", config)
    plain = TrainingBatches(prepared, batch_tokens=1000)
    stored = batches_of(plain.dataset)
    sampling = SubwordSampling(tokenizers(prepared), 0.5, (60, 60), 1)
    batches = TrainingBatches(prepared, batch_tokens=1000, changes=[sampling])
    drawn = batches_of(batches.dataset)
    assert texts(prepared, drawn) == texts(prepared, stored)
    for get in (lambda b: b[0]["source_ids"], lambda b: b[1]):
        assert sum((get(b) != 0).sum() for b in drawn) > sum(
            (get(b) != 0).sum() for b in stored
        )
