import collections
import math
import random

import pytest
import tensorflow as tf

from keras_transformer.constants import UNK_ID
from keras_transformer.text import SentencePieceTokenizer
from keras_transformer.text.vocabulary_training import train_sentencepiece

# Many more words than pieces, so that there are several ways to cut each.
_RANDOM = random.Random(1)
_SYLLABLES = "wa lk ing ta er su rf pla y si ng re ad s mi les ho me th".split()
LINES = [
    " ".join(
        "".join(_RANDOM.choices(_SYLLABLES, k=_RANDOM.randint(1, 3)))
        for _ in range(8)
    )
    for _ in range(160)
]
MODELS = pytest.mark.parametrize("model_type", ["unigram", "bpe"])
ALPHAS = {"unigram": 0.2, "bpe": 0.3}


@pytest.fixture(scope="module")
def tokenizers():
    return {
        kind: SentencePieceTokenizer(
            train_sentencepiece(LINES, 120, model_type=kind)
        )
        for kind in ALPHAS
    }


def plain(tokenizer, lines=LINES):
    return tokenizer.tokenize(lines).to_list()


def sample(tokenizer, ids, alpha, seed=1, max_length=200):
    return tokenizer.sampler(alpha)(ids, seed, max_length)


def texts(tokenizer, ids):
    found = tokenizer.detokenize(tf.ragged.constant(ids, tf.int32))
    return [text.decode() for text in found.numpy()]


@MODELS
def test_other_pieces_by_the_seed_spell_the_same_text(tokenizers, model_type):
    tokenizer, alpha = tokenizers[model_type], ALPHAS[model_type]
    ids = plain(tokenizer)
    drawn = sample(tokenizer, ids, alpha, 1)
    changed = sum(a != b for a, b in zip(ids, drawn, strict=True))
    assert changed > len(LINES) / 2
    assert texts(tokenizer, drawn) == LINES
    # Whatever was drawn before.
    for seed in (2, 2**31 - 1):
        assert sample(tokenizer, ids, alpha, seed) != drawn
    assert sample(tokenizer, ids, alpha, 1) == drawn


@pytest.mark.parametrize("alpha", [1.0, 0.3])
def test_segmentations_come_as_often_as_they_should(tokenizers, alpha):
    tokenizer = tokenizers["unigram"]
    scores = {
        piece: tokenizer._processor.get_score(number)
        for number, piece in enumerate(tokenizer.tokens())
        if number > 3
    }

    def segmentations(word):
        if not word:
            yield ()
        for end in range(1, len(word) + 1):
            if word[:end] in scores:
                for rest in segmentations(word[end:]):
                    yield (word[:end], *rest)

    ways = [*segmentations("▁the▁walker▁is▁walking")]
    weights = [
        math.exp(alpha * sum(scores[piece] for piece in way)) for way in ways
    ]
    assert len(ways) > 10
    pieces = tokenizer.tokens()
    drawn = sample(
        tokenizer, plain(tokenizer, ["the walker is walking"]) * 20_000, alpha
    )
    found = collections.Counter(
        tuple(pieces[number] for number in ids) for ids in drawn
    )
    assert {*found} <= {*ways}
    for way, weight in zip(ways, weights, strict=True):
        share = weight / sum(weights)
        assert found[way] / 20_000 == pytest.approx(share, abs=0.015)


def test_dropout_comes_as_often_as_sentencepieces_own(tokenizers):
    tokenizer = tokenizers["bpe"]
    processor = tokenizer._processor
    theirs = collections.Counter(
        tuple(
            processor.encode(
                "mistalking", enable_sampling=True, nbest_size=-1, alpha=0.3
            )
        )
        for _ in range(10_000)
    )
    ids = plain(tokenizer, ["mistalking"]) * 10_000
    ours = collections.Counter(map(tuple, sample(tokenizer, ids, 0.3)))
    assert len(theirs) > 10
    for way in {*theirs, *ours}:
        share = theirs[way] / 10_000
        assert ours[way] / 10_000 == pytest.approx(share, abs=0.03)


@MODELS
def test_what_is_unknown_stays_in_its_place(tokenizers, model_type):
    tokenizer, alpha = tokenizers[model_type], ALPHAS[model_type]
    text = "the 猫 walks re猫ading猫猫"
    ids = plain(tokenizer, [text])
    assert ids[0].count(UNK_ID) == 3
    drawn = [sample(tokenizer, ids, alpha, seed)[0] for seed in range(20)]
    assert len({*map(tuple, drawn)}) > 4
    assert {*texts(tokenizer, drawn)} == {*texts(tokenizer, ids)}


@MODELS
def test_texts_that_would_be_too_long_keep_their_ids(tokenizers, model_type):
    tokenizer, alpha = tokenizers[model_type], ALPHAS[model_type]
    ids = plain(tokenizer)
    limit = max(map(len, ids)) + 1
    free = sample(tokenizer, ids, alpha)
    bound = sample(tokenizer, ids, alpha, 1, limit)
    assert max(map(len, free)) > limit >= max(map(len, bound))
    for own, new, kept in zip(ids, free, bound, strict=True):
        assert kept == (new if len(new) <= limit else own)
