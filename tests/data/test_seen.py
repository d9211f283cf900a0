import collections
import random

from keras_transformer.data.seen import SeenCounts, SeenPairs, hash_strings


def test_only_the_first_of_equal_pairs_is_new():
    seen = SeenPairs()
    first = seen.first_seen([("a", "b"), ("a", "c"), ("a", "b")])
    later = seen.first_seen([("d", "b"), ("a", "c"), ("d", "b")])
    assert first.tolist() == [True, True, False]
    assert later.tolist() == [True, False, False]


def test_seen_pairs_are_found_however_many_came_between():
    seen = SeenPairs()
    for start in range(0, 20_000, 100):
        pairs = [(str(n), "x") for n in range(start, start + 100)]
        assert seen.first_seen(pairs).all()
    old = [(str(n), "x") for n in range(0, 20_000, 7)]
    new = [(str(n), "y") for n in range(0, 20_000, 7)]
    assert not seen.first_seen(old).any()
    assert seen.first_seen(new).all()


def test_seen_pairs_take_eight_bytes_each():
    seen = SeenPairs()
    for start in range(0, 50_000, 1000):
        seen.first_seen([(str(n), "") for n in range(start, start + 1000)])
    assert sum(run.nbytes for run in seen._runs) == 8 * 50_000
    assert len(seen._runs) < 10


def test_counts_are_those_of_a_plain_counter():
    random.seed(1)
    seen, plain = SeenCounts(), collections.Counter()
    for size in [3, 0, 1, 500, 20, 20, 20, 1000, 1]:
        texts = [str(int(random.expovariate(0.05))) for _ in range(size)]
        found = seen.counts(hash_strings(texts)).tolist()
        assert found == [plain[text] for text in texts]
        seen.add(hash_strings(texts))
        plain.update(texts)


def test_counts_take_twelve_bytes_a_text():
    seen = SeenCounts()
    for _ in range(4):
        seen.add(hash_strings(map(str, range(10_000))))
    assert sum(a.nbytes for run in seen._runs for a in run) == 12 * 10_000
