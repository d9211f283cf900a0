"""Pairs whose sides don't translate each other."""

import random

import pytest

from keras_transformer.data.prepare import prepare
from tests.data.conftest import contents
from tests.data.test_prepare import texts
from tests.word_data import word_data

WORDS = [f"{a}{b}" for a in "bdfglmnprst" for b in "aeiou"]


def sentences(count, seed):
    """Pairs, a word of a target for each of the source, in another order."""
    generator = random.Random(seed)
    for _ in range(count):
        source = generator.choices(WORDS, k=generator.randrange(4, 9))
        target = [f"x{word}" for word in reversed(source)]
        yield " ".join(["the", *source]), " ".join([*target, "."])


GOOD = [*sentences(800, 1)]
# Sources with the targets of the next pairs.
_SOURCES, _TARGETS = zip(*sentences(200, 2), strict=True)
BAD = [*zip(_SOURCES, _TARGETS[1:] + _TARGETS[:1], strict=True)]
CONFIG = {
    "target_language": "de",
    "source_tokenizer": "space",
    "target_tokenizer": "space",
    "filters": ("alignment",),
}


def good_pairs(prepared):
    """The pairs that are left, nearly all of the good ones and few others."""
    kept = {*texts(prepared, "train")}
    assert len(kept & {*GOOD}) > 0.97 * len(GOOD)
    assert len(kept & {*BAD}) < 0.1 * len(BAD)
    return kept


def test_misaligned_pairs_are_dropped_from_training(prepare_text, write):
    dev = write("dev.tsv", BAD[:50])
    prepared = prepare_text(GOOD + BAD, dev, **CONFIG)
    kept = good_pairs(prepared)
    cleaning = prepared.report["cleaning"]
    assert cleaning["train"]["unaligned"] == 1000 - len(kept)
    assert cleaning["dev"]["unaligned"] == 0
    assert prepared.counts["dev"] == 50
    samples = {*map(tuple, prepared.report["samples"]["unaligned"])}
    assert len(samples) == 5
    assert not samples & kept
    assert prepared.report["alignment_limit"] < 1


@pytest.mark.medium
def test_a_pair_of_very_many_tokens_does_no_harm(prepare_text):
    long = " ".join(["x"] * 20_000)
    good_pairs(prepare_text([(long, long), *GOOD, *BAD], **CONFIG))


@pytest.mark.medium
def test_workers_drop_the_same(write, tmp_path):
    path, config = write("train.tsv", GOOD + BAD), word_data(**CONFIG)
    for workers in (1, 2):
        prepare([path], tmp_path / f"{workers}", config, workers=workers)
    assert contents(tmp_path / "1") == contents(tmp_path / "2")


def test_two_pairs_without_a_common_word_are_kept(prepare_text):
    prepared = prepare_text("a b\tc d\ne f\tg h\n", **CONFIG)
    assert prepared.counts["train"] == 2


def test_where_nothing_fits_nothing_is_dropped(prepare_text):
    sources, targets = zip(*sentences(2000, 3), strict=True)
    shifted = zip(sources, targets[1:] + targets[:1], strict=True)
    with pytest.warns(UserWarning, match="alignment drops nothing"):
        prepared = prepare_text([*shifted], **CONFIG)
    assert prepared.counts["train"] == 2000
    assert prepared.report["alignment_limit"] is None


def test_repeated_pairs_do_not_vouch_for_themselves(write, tmp_path):
    train = [f"{write('train.tsv', GOOD + BAD)}*3"]
    prepared = prepare(train, tmp_path / "data", word_data(**CONFIG))
    dropped = prepared.report["cleaning"]["train"]["unaligned"] / 3
    assert 0.9 * len(BAD) < dropped < len(BAD) + 0.03 * len(GOOD)
