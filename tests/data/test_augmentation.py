import functools
import random

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import Config
from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.data.augmentation import (
    CHANGES,
    Augmentation,
    SubwordSampling,
    batch_changes,
    changed,
)
from keras_transformer.data.batching import TrainingBatches
from keras_transformer.data.prepare import prepare
from keras_transformer.symbols import SYMBOLS
from keras_transformer.text.word import WordTokenizer
from tests.data.test_batching import batches_of, check_epochs
from tests.data.test_subword_sampling import texts, tokenizers
from tests.word_data import word_data

PAIR = "Version 12 of the library.", "Version 12 der Bibliothek."


def change(name, source, target, seed=1):
    return changed((source, target), name, random.Random(seed))


@pytest.mark.parametrize(
    ("name", "source", "target", "expected"),
    [
        ("upper", "a Straße", "ein ß", ("A STRASSE", "EIN SS")),
        ("upper", "the cat", "一只猫", ("THE CAT", "一只猫")),
        ("title", "don't GO", "geh nicht", ("Don't GO", "Geh Nicht")),
        ("stop", "Go.", "走。", ("Go", "走")),
        ("stop", "Go.", "走", ("Go.", "走")),
        ("stop", "Go...", "走。", ("Go...", "走。")),
        ("stop", ".", "。", (".", "。")),
        ("typos", "a b cat", "eine", ("a b cat", "eine")),
        ("numbers", "1 of 0", "1 von 0", ("1 of 0", "1 von 0")),
        ("numbers", "2 of 2", "2 von 2", ("2 of 2", "2 von 2")),
        ("numbers", "x86 3.4", "x86 3.4", ("x86 3.4", "x86 3.4")),
        ("numbers", "7 cats", "sieben", ("7 cats", "sieben")),
        # Tags stay, and so do pairs with markup.
        ("upper", "<BT> <2de> Go", "geh", ("<BT> <2de> GO", "GEH")),
        ("upper", "<b>Go</b>", "geh", ("<b>Go</b>", "geh")),
        ("upper", "go to %s", "geh zu %s", ("go to %s", "geh zu %s")),
        ("upper", "⟨1⟩Go⟨/1⟩", "⟨1⟩geh⟨/1⟩", ("⟨1⟩Go⟨/1⟩", "⟨1⟩geh⟨/1⟩")),
        ("upper", "⟨t⟩go⟨=⟩geh⟨/t⟩", "geh", ("⟨t⟩go⟨=⟩geh⟨/t⟩", "geh")),
    ],
)
def test_a_pair_after_a_change(name, source, target, expected):
    assert change(name, source, target) == expected


def test_typing_errors_are_of_one_letter_and_in_the_source_alone():
    source = "surprising"
    for seed in range(50):
        misspelt, target = change("typos", source, "x.", seed)
        assert target == "x."
        assert misspelt != source or "rr" in source
        assert abs(len(misspelt) - len(source)) <= 1
    assert len({change("typos", *PAIR, seed) for seed in range(50)}) > 20
    for words in ("我不喜欢喝茶。", "わたしはのみません", "좋아하지않습니다"):
        assert change("typos", words, "x") == (words, "x")
    # One for eight words.
    words = ["abcdefgh"] * 16
    misspelt, _ = change("typos", " ".join(words), "x")
    assert sum(word != words[0] for word in misspelt.split()) == 2


def test_numbers_of_both_sides_become_the_same_others():
    source, target = "from 3 to 57", "von 3 bis 57"
    for seed in range(50):
        new, translated = change("numbers", source, target, seed)
        assert new.replace("from", "von").replace("to", "bis") == translated
        low, high = (int(word) for word in new.split() if word.isdigit())
        assert 2 <= low <= 9
        assert 10 <= high <= 99


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    """A corpus of sentences with capitals, stops and numbers; in pieces."""
    folder = tmp_path_factory.mktemp("pieces")
    lines = [
        f"The package {n} has a library.\tDas Paket {n} hat eine Bibliothek.\n"
        f"Number {n} of these tools\tWerkzeug Nummer {n}\n"
        # Where a letter is unknown a pair isn't changed.
        f"THE QUICK BROWN FOX JUMPS OVER {n} LAKES"
        f"\tHUMOR VON {n} ZWERGEN, KNAPP\n"
        for n in range(200)
    ]
    (folder / "corpus.tsv").write_text("".join(lines))
    config = word_data(
        target_language="de",
        source_tokenizer="sentencepiece",
        source_vocabulary_size=300,
        target_vocabulary_size=300,
        lowercase=False,
    )
    return prepare([folder / "corpus.tsv"], folder / "data", config)


def training(prepared, fraction=0.5, longest=90, seed=1):
    made = Augmentation(
        tokenizers(prepared), fraction, (longest, longest), seed
    )
    return TrainingBatches(
        prepared, batch_tokens=1000, shuffle_buffer=60, changes=[made]
    )


@pytest.mark.medium
def test_so_many_pairs_are_changed_in_each_epoch(pieces):
    plain = TrainingBatches(pieces, batch_tokens=1000, shuffle_buffer=60)
    stored = {*texts(pieces, batches_of(plain.dataset))}
    batches = training(pieces)
    found = []
    for batches.epoch in range(3):
        made = batches_of(batches.dataset)
        assert len(made) == batches.batches_per_epoch
        found.append([*texts(pieces, made)])
    unchanged = [pair for epoch in found for pair in epoch if pair in stored]
    # Half of the pairs; but some changes change nothing, and joining halves.
    assert 0.5 < len(unchanged) / (3 * len(stored)) < 0.85
    assert found[0] != found[1]
    new = {pair for epoch in found for pair in epoch} - stored
    assert any(s.isupper() and s.startswith(b"NUMBER") for s, _ in new)
    assert any(source.count(b" ") > 8 for source, _ in new)  # Joined.


@pytest.mark.medium
def test_changes_follow_from_seed_and_epoch(pieces):
    check_epochs(functools.partial(training, pieces))


@pytest.mark.medium
def test_no_sentence_becomes_longer_than_the_model_takes(pieces):
    plain = TrainingBatches(pieces, batch_tokens=1000)
    longest = max(
        max(features["source_ids"].shape[1] - 2, labels.shape[1] - 1)
        for features, labels in batches_of(plain.dataset)
    )
    for features, labels in batches_of(training(pieces, 1.0, longest).dataset):
        assert features["source_ids"].shape[1] - 2 <= longest
        assert labels.shape[1] - 1 <= longest


def test_all_pairs_of_a_joined_batch_are_there(pieces):
    made = Augmentation(tokenizers(pieces), 1.0, (90, 90), 1)
    source, target = tokenizers(pieces)
    pairs = [(f"The package {n}.", f"Das Paket {n}.") for n in range(5)]
    sides = zip(*pairs, strict=True)
    ids = [
        tokenizer.tokenize(list(side))
        for tokenizer, side in zip((source, target), sides, strict=True)
    ]
    joined = made._join(*ids, np.int64(1))
    for i, tokenizer in enumerate((source, target)):
        said = tokenizer.detokenize(joined[i]).numpy().tolist()
        texts = [pair[i] for pair in pairs]
        expected = [" ".join(texts[:2]), " ".join(texts[2:4]), texts[4]]
        assert [text.decode() for text in said] == expected


def test_sentences_with_symbols_are_not_joined():
    tokens = [*SPECIAL_TOKENS, *SYMBOLS, "go", "geh"]
    tokenizer = WordTokenizer(tokens)
    made = Augmentation((tokenizer, tokenizer), 1.0, (90, 90), 1)
    marked, term, plain = "⟨1⟩ go ⟨/1⟩", "⟨t⟩ go ⟨=⟩ geh ⟨/t⟩", "go"
    ids = tokenizer.tokenize([marked, marked, plain, term, marked, plain])
    joined, _ = made._join(ids, ids, np.int64(1))
    # Both have numbers of their own; terms have none.
    expected = [3, 3, 1 + 5, 3 + 1]
    assert joined.row_lengths().numpy().tolist() == expected


def test_an_unknown_token_leaves_a_pair_as_it_is():
    tokens = [*SPECIAL_TOKENS, "word", "Word", "WORD"]
    tokenizer = WordTokenizer(tokens, lowercase=False)
    made = Augmentation((tokenizer, tokenizer), 0.8, (90, 90), 1)
    made._join = lambda sources, targets, _: (sources, targets)
    ids = tokenizer.tokenize(["word", "rare word"] * 20)
    before, key = ids.to_list(), tf.constant(1, tf.int64)
    in_graph = tf.function(lambda: made(ids, ids, key), autograph=False)
    for side in in_graph():
        assert side.to_list()[::2] != before[::2]
        assert side.to_list()[1::2] == before[1::2]


def test_the_configuration_decides(pieces):
    assert batch_changes(Config(), tokenizers(pieces)) == []
    values = {"augment": 0.1, "subword_sampling": 0.1}
    config = Config().updated({"training": values})
    kinds = [type(each) for each in batch_changes(config, tokenizers(pieces))]
    assert kinds == [Augmentation, SubwordSampling]
    assert len(CHANGES) == 5
