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


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Good pairs, and a fifth of bad ones: targets of the next pair."""
    path = tmp_path_factory.mktemp("corpus") / "corpus.tsv"
    good, bad = [*sentences(800, 1)], [*sentences(200, 2)]
    bad = [
        (source, bad[(i + 1) % len(bad)][1])
        for i, (source, _) in enumerate(bad)
    ]
    lines = [f"{source}\t{target}\n" for source, target in good + bad]
    path.write_text("".join(lines))
    return path, good, bad


CONFIG = word_data(
    target_language="de",
    source_tokenizer="space",
    target_tokenizer="space",
    filters=("alignment",),
    shard_size=300,
)


def kept_pairs(prepared):
    return {*texts(prepared, "train")}


def test_misaligned_pairs_are_dropped_from_training(corpus, tmp_path):
    path, good, bad = corpus
    dev = tmp_path / "dev.tsv"
    dev.write_text("".join(f"{a}\t{b}\n" for a, b in bad[:50]))
    prepared = prepare([path], tmp_path / "data", CONFIG, dev)
    kept = kept_pairs(prepared)
    assert len(kept & {*good}) > 0.97 * len(good)
    assert len(kept & {*bad}) < 0.1 * len(bad)
    cleaning = prepared.report["cleaning"]
    assert cleaning["train"]["unaligned"] == 1000 - len(kept)
    assert cleaning["dev"]["unaligned"] == 0
    assert prepared.counts["dev"] == 50
    samples = {*map(tuple, prepared.report["samples"]["unaligned"])}
    assert len(samples) == 5
    assert not samples & kept
    assert prepared.report["alignment_limit"] < 1


@pytest.mark.medium
def test_a_pair_of_very_many_tokens_does_no_harm(corpus, tmp_path):
    path, good, bad = corpus
    long = " ".join(["x"] * 20_000)
    path.write_text(f"{long}\t{long}\n{path.read_text()}")
    kept = kept_pairs(prepare([path], tmp_path / "data", CONFIG))
    assert len(kept & {*good}) > 0.97 * len(good)
    assert len(kept & {*bad}) < 0.1 * len(bad)


def test_workers_drop_the_same(corpus, tmp_path):
    path, *_ = corpus
    for name, workers in (("one", 1), ("two", 2)):
        prepare([path], tmp_path / name, CONFIG, workers=workers)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_two_pairs_without_a_common_word_are_kept(tmp_path):
    (tmp_path / "two.tsv").write_text("a b\tc d\ne f\tg h\n")
    prepared = prepare([tmp_path / "two.tsv"], tmp_path / "data", CONFIG)
    assert len(kept_pairs(prepared)) == 2


def test_where_nothing_fits_nothing_is_dropped(tmp_path):
    sources, targets = zip(*sentences(2000, 3), strict=True)
    shifted = zip(sources, targets[1:] + targets[:1], strict=True)
    path = tmp_path / "bad.tsv"
    path.write_text("".join(f"{a}\t{b}\n" for a, b in shifted))
    with pytest.warns(UserWarning, match="alignment drops nothing"):
        prepared = prepare([path], tmp_path / "data", CONFIG)
    assert prepared.counts["train"] == 2000
    assert prepared.report["alignment_limit"] is None


def test_repeated_pairs_do_not_vouch_for_themselves(corpus, tmp_path):
    path, good, bad = corpus
    prepared = prepare([f"{path}*3"], tmp_path / "data", CONFIG)
    dropped = prepared.report["cleaning"]["train"]["unaligned"] / 3
    assert 0.9 * len(bad) < dropped < len(bad) + 0.03 * len(good)
