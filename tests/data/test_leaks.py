import pytest

from keras_transformer.data.corpus import read_pairs
from keras_transformer.data.leaks import LeakGuard, Overlap
from keras_transformer.data.splitting import pair_keys

HELD_OUT = [("Go home!", "Geh heim!"), ("I see.", "Ich sehe.")]
TRAINING = [
    ("go home", "Geh heim."),  # both sides
    ("Go home.", "Geh!"),  # its source
    ("Off you go", "geh heim"),  # its target
    ("Go home!", "Ich sehe."),  # both sides, of two pairs
    ("Geh heim!", "Go home!"),  # the other way round
]


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
