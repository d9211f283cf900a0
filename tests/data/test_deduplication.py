import collections
import random

from keras_transformer.data.deduplication import (
    FingerprintCounts,
    PairFingerprints,
    SideLimits,
    fingerprints,
)


def test_only_the_first_of_equal_pairs_is_new():
    known = PairFingerprints()
    first = known.first_occurrences([("a", "b"), ("a", "c"), ("a", "b")])
    later = known.first_occurrences([("d", "b"), ("a", "c"), ("d", "b")])
    assert first.tolist() == [True, True, False]
    assert later.tolist() == [True, False, False]


def test_earlier_pairs_are_recognised_however_many_came_between():
    known = PairFingerprints()
    for start in range(0, 20_000, 100):
        pairs = [(str(n), "x") for n in range(start, start + 100)]
        assert known.first_occurrences(pairs).all()
    old = [(str(n), "x") for n in range(0, 20_000, 7)]
    new = [(str(n), "y") for n in range(0, 20_000, 7)]
    assert not known.first_occurrences(old).any()
    assert known.first_occurrences(new).all()


def test_pairs_take_eight_bytes_each():
    known = PairFingerprints()
    for start in range(0, 50_000, 1000):
        known.first_occurrences(
            [(str(n), "") for n in range(start, start + 1000)]
        )
    assert sum(run.nbytes for run in known._runs) == 8 * 50_000
    assert len(known._runs) < 10


def test_counts_are_those_of_a_plain_counter():
    random.seed(1)
    known, plain = FingerprintCounts(), collections.Counter()
    for size in [3, 0, 1, 500, 20, 20, 20, 1000, 1]:
        texts = [str(int(random.expovariate(0.05))) for _ in range(size)]
        counts = known.counts(fingerprints(texts)).tolist()
        assert counts == [plain[text] for text in texts]
        known.add(fingerprints(texts))
        plain.update(texts)


def test_counts_take_twelve_bytes_a_text():
    known = FingerprintCounts()
    for _ in range(4):
        known.add(fingerprints(map(str, range(10_000))))
    assert sum(a.nbytes for run in known._runs for a in run) == 12 * 10_000


def test_a_side_is_kept_only_so_often():
    pairs = [("a", "x"), ("b", "x"), ("a", "y"), ("c", "x"), ("a", "z")]
    assert SideLimits(2, None)(pairs).tolist() == [1, 1, 1, 1, 0]
    assert SideLimits(None, 1)(pairs).tolist() == [1, 0, 1, 0, 1]
    assert SideLimits(2, 2)(pairs).tolist() == [1, 1, 1, 0, 0]


def test_a_pair_that_one_limit_drops_does_not_count_for_the_other():
    limits = SideLimits(1, 1)
    # (a, y) falls to its source, and so leaves y to (b, y).
    assert limits([("a", "x"), ("a", "y"), ("b", "y")]).tolist() == [1, 0, 1]


def test_limits_hold_across_chunks_whatever_their_size():
    random.seed(2)
    pairs = [
        (str(random.randrange(40)), str(random.randrange(60)))
        for _ in range(1000)
    ]
    whole = SideLimits(5, 3)(pairs).tolist()
    limits, parts = SideLimits(5, 3), []
    for start in range(0, 1000, 7):
        parts += limits(pairs[start : start + 7]).tolist()
    assert parts == whole
    kept = [pair for pair, keep in zip(pairs, whole, strict=True) if keep]
    for side, limit in ((0, 5), (1, 3)):
        texts = [pair[side] for pair in kept]
        assert max(map(texts.count, texts)) == limit
