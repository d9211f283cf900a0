"""Groups of sentences: how the corpus of the benchmarks is split.

Pairs that share the key of their source or of their target (see
`keras_transformer.data.selection`) are one group, transitively, and are never
split. `prepare --dev FRACTION` has another rule, whose memory doesn't grow with
the corpus; this one stays for what was measured with it.
"""

import hashlib

import numpy as np


def pair_keys(pairs) -> np.ndarray:
    """64 bits of the digests of both sides' sentence keys.

    Returns:
        uint64 `(N, 2)`: source, target; the two sides never meet.
    """
    from keras_transformer.data.selection import sentence_keys

    sides = zip(*pairs, strict=True)
    return np.stack(
        [
            _fingerprints(f"{name}\t{key}" for key in sentence_keys(texts))
            for name, texts in zip(("source", "target"), sides, strict=True)
        ],
        axis=1,
    )


def _fingerprints(texts):
    digests = b"".join(
        hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts
    )
    return np.frombuffer(digests, "<u8")


def sentence_groups(keys: np.ndarray) -> np.ndarray:
    """Numbers the groups of pairs that share a source or a target.

    Union-find on whole arrays: every pair hooks the larger root of its two
    sides under the smaller one, then all paths are halved, until nothing
    moves. Needs some 140 bytes a pair.

    Args:
        keys: uint64 `(N, 2)`, from `pair_keys`.

    Returns:
        int64 `(N,)`: groups are numbered from 0 in the order of their first
        key's value.
    """
    _, nodes = np.unique(keys, return_inverse=True)
    sources, targets = nodes.reshape(-1, 2).T
    parents = np.arange(nodes.max(initial=-1) + 1)
    while True:
        left, right = parents[sources], parents[targets]
        if np.array_equal(left, right):
            break
        lower, upper = np.minimum(left, right), np.maximum(left, right)
        np.minimum.at(parents, upper, lower)
        while not np.array_equal(parents[parents], parents):
            parents = parents[parents]
    _, groups = np.unique(parents[sources], return_inverse=True)
    return groups


def choose_dev(groups: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """Picks groups at random until the dev split has its fraction of pairs.

    Args:
        groups: int `(N,)`, the group of each pair.
        fraction: the fraction of the pairs for dev; the choice never
            exceeds it, because groups that are too large are passed over.
        seed: decides the choice.

    Returns:
        bool `(N,)`: True for the pairs of the dev split.
    """
    left = int(len(groups) * fraction)
    sizes = np.bincount(groups)
    chosen = np.zeros(len(sizes), bool)
    for group in np.random.default_rng(seed).permutation(len(sizes)):
        if left <= 0:
            break
        if sizes[group] <= left:
            chosen[group] = True
            left -= sizes[group]
    return chosen[groups]
