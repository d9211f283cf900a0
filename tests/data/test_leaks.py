import pytest

from keras_transformer.data.corpus import read_pairs
from keras_transformer.data.leaks import (
    LeakGuard,
    Overlap,
    pair_keys,
    sentence_keys,
)

HELD_OUT = [("Go home!", "Geh heim!"), ("I see.", "Ich sehe.")]
TRAINING = [
    ("go home", "Geh heim."),  # both sides
    ("Go home.", "Geh!"),  # its source
    ("Off you go", "geh heim"),  # its target
    ("Go home!", "Ich sehe."),  # both sides, of two pairs
    ("Geh heim!", "Go home!"),  # the other way round
]


def key(text):
    return next(iter(sentence_keys([text])))


def test_key_ignores_case_width_punctuation_and_script():
    assert key("Don't STOP!") == key("dont stop") == "dontstop"
    assert key("ＡＢＣ　１２") == "abc12"
    assert key("這是漢語。") == key("这是汉语") == "这是汉语"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("की", "का", False),  # vowel signs, which aren't letters to Python
        ("ที่", "ทุ", False),
        ("မိ", "မု", False),
        ("கீ", "கா", False),
        ("مَلِك", "ملك", True),  # points, which are mostly left out
        ("שָׁלוֹם", "שלום", True),
        ("ok \u2764\ufe0f", "ok \u2764", True),
    ],
)
def test_key_has_the_signs_that_tell_words_apart(one, other, same):
    assert (key(one) == key(other)) == same


def test_texts_without_letters_stay_apart():
    assert key("?!") != key("...")


@pytest.mark.parametrize(
    ("match", "kept"),
    [
        ("pair", [0, 1, 1, 1, 1]),
        ("source", [0, 0, 1, 0, 1]),
        ("side", [0, 0, 0, 0, 1]),
    ],
)
def test_what_matches_is_dropped(match, kept):
    guard = LeakGuard(match)
    for pair in HELD_OUT:
        guard.hold_out([pair])
    assert guard(TRAINING).tolist() == kept
    assert guard(TRAINING[::-1]).tolist() == kept[::-1]
    assert guard([]).tolist() == []


def test_nothing_held_out_drops_nothing():
    assert LeakGuard("side")(TRAINING).all()


def test_without_a_shared_side_there_is_no_overlap():
    overlap = Overlap(pair_keys(HELD_OUT))
    overlap.add(pair_keys(TRAINING))
    assert overlap.count == 2
    guard = LeakGuard("side")
    guard.hold_out(HELD_OUT)
    kept = guard(TRAINING)
    overlap = Overlap(pair_keys(HELD_OUT))
    rest = [pair for pair, keep in zip(TRAINING, kept, strict=True) if keep]
    overlap.add(pair_keys(rest))
    assert overlap.count == 0


def test_overlap_counts_dev_pairs_with_a_side_in_training():
    overlap = Overlap(
        pair_keys([("a", "b"), ("c", "d"), ("e", "f"), ("A!", "x")])
    )
    assert overlap.count == 0
    overlap.add(pair_keys([("a.", "z"), ("y", "D")]))
    assert overlap.count == 3
    overlap.add(pair_keys([("f", "e")]))
    assert overlap.count == 3


def test_tatoeba_dev_does_not_overlap_its_training_part(shared):
    data = shared / "data" / "tatoeba"
    overlap = Overlap(pair_keys(list(read_pairs([data / "dev.tsv"]))))
    train = list(read_pairs([data / "train.tsv"]))
    overlap.add(pair_keys(train))
    assert overlap.count == 0
    overlap.add(pair_keys(list(read_pairs([data / "dev.tsv"]))[:3]))
    assert overlap.count >= 3
