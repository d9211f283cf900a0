import itertools

import numpy as np
import pytest

from keras_transformer.data.batch_plan import (
    BatchSize,
    count_batches,
    few_lengths,
    plan_pool,
)

PADDED = (4, 6, 8, 10, 14, 18, 24, 30, 38, 48, 60, 64)
SIZES = [
    BatchSize(4096),
    BatchSize(300),
    BatchSize(20),
    BatchSize(1),
    BatchSize(1, sentences=64),
    BatchSize(1, sentences=1),
    BatchSize(300, buckets=(12, 64)),
    BatchSize(300, padded_lengths=PADDED),
]


def pool(pairs, seed=0):
    random = np.random.default_rng(seed)
    targets = 2 + random.poisson(10, pairs)
    sources = np.maximum(2, targets + random.integers(-5, 6, pairs))
    return np.stack([sources, targets], axis=1).astype(np.int32)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("pairs", [1, 2, 63, 64, 65, 1000])
def test_every_pair_is_in_one_batch_and_the_count_never_changes(size, pairs):
    lengths = pool(pairs)
    count = count_batches(lengths, size)
    for seed in range(10):
        batches = plan_pool(lengths, size, np.random.default_rng(seed))
        assert len(batches) == count
        assert all(len(batch) for batch in batches)
        indices = np.sort(np.concatenate(batches))
        np.testing.assert_array_equal(indices, np.arange(pairs))


def positions(lengths, buckets):
    """Positions of the longer sides, each padded to the next bucket."""
    return sum(min(b for b in buckets if b >= n) for n in lengths.max(axis=1))


@pytest.mark.parametrize("seed", range(5))
def test_few_lengths_are_the_fewest_and_the_best_of_these(seed):
    random = np.random.default_rng(seed)
    lengths = 2 + random.geometric(0.2, (200, 2)).clip(max=26)
    found = few_lengths(lengths)
    own = sorted({int(n + n % 2) for n in lengths.max(axis=1)})
    best = {
        count: min(
            positions(lengths, (*some, own[-1]))
            for some in itertools.combinations(own[:-1], count - 1)
        )
        for count in range(1, len(found) + 1)
    }
    assert positions(lengths, found) == best[len(found)]
    enough = [1.25 * positions(lengths, own) >= best[n] for n in best]
    assert enough == [False] * (len(found) - 1) + [True]


def test_few_lengths_of_one_length_are_one():
    assert few_lengths(np.array([[3, 7], [8, 2]])) == (8,)


def test_few_lengths_go_on_to_the_longest_that_a_pair_becomes():
    lengths = np.array([[3, 7], [102, 2]])
    chosen = few_lengths(lengths, longest=255)
    assert chosen == (*few_lengths(lengths), 128, 162, 204, 255)
    assert few_lengths(lengths, longest=102) == few_lengths(lengths)


@pytest.mark.parametrize(
    ("options", "batch", "expected"),
    [
        ({}, (3, 7, 9), (3, 7, 9)),
        ({"replicas": 4}, (5, 7, 9), (8, 7, 9)),
        ({"buckets": (8, 10, 14)}, (3, 7, 9), (10, 10, 10)),
        ({"buckets": (8, 10, 14), "replicas": 4}, (3, 7, 9), (12, 10, 10)),
        ({"buckets": (8, 10), "sentences": 32}, (3, 7, 9), (32, 10, 10)),
        # 9 positions are the fewest that are padded to 10: 11 pairs of them.
        ({"padded_lengths": (8, 10, 14)}, (10, 7, 10), (11, 8, 10)),
        ({"padded_lengths": (8, 10, 14)}, (2, 3, 4), (33, 8, 8)),
        ({"padded_lengths": (8, 10, 14)}, (1, 99, 4), (6, 99, 8)),
    ],
)
def test_what_a_batch_is_padded_to(options, batch, expected):
    size = BatchSize(100, **options)
    assert tuple(size.padded_shape(*batch)) == expected
