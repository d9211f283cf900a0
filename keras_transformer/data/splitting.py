"""Which sentences are the same, and splitting by groups of them.

A sentence's key is its text in NFKC, lower case, letters, vowel signs and
digits only, traditional characters mapped to simplified. Pairs that share the
key of their source or of their target are one group, transitively; a group is
never split, so that nothing held out was trained on.
"""

import functools
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from keras_transformer.data.seen import hash_strings
from keras_transformer.text.chinese import simplify

# The first words of their names.
_OPTIONAL_MARKS = {"COMBINING", "VARIATION", "HEBREW", "ARABIC", "SYRIAC"}


def sentence_keys(texts: Iterable[str]) -> Iterator[str]:
    """The normalised forms under which two sentences are the same.

    A text without any letter or digit is its own key, so that "?" and "!"
    stay apart.
    """
    for text in texts:
        folded = unicodedata.normalize("NFKC", text).lower()
        key = "".join(filter(_is_said, folded)) or text
        # Most sentences of an alphabet are spared OpenCC, which is slow.
        yield key if key.isascii() else next(simplify([key]))


@functools.lru_cache(maxsize=1 << 16)
def _is_said(character):
    """Whether a character is a letter, a digit or a sign for a vowel or tone.

    The marks that some scripts leave out as they like aren't.
    """
    if unicodedata.category(character)[0] != "M":
        return character.isalnum()
    script = unicodedata.name(character, "COMBINING").split()[0]
    return script not in _OPTIONAL_MARKS


def pair_keys(pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    """The hashed sentence keys of both sides.

    Returns:
        uint64 [len(pairs), 2]: source, target; the two sides never meet.
    """
    sources = sentence_keys(source for source, _ in pairs)
    targets = sentence_keys(target for _, target in pairs)
    return np.stack(
        [
            hash_strings(f"source\t{key}" for key in sources),
            hash_strings(f"target\t{key}" for key in targets),
        ],
        axis=1,
    )


def sentence_groups(keys: np.ndarray) -> np.ndarray:
    """Numbers the groups of pairs that share a source or a target.

    Union-find on whole arrays: every pair hooks the larger root of its two
    sides under the smaller one, then all paths are halved, until nothing
    moves. Needs some 140 bytes a pair.

    Args:
        keys: uint64 [N, 2], from `pair_keys`.

    Returns:
        int64 [N]: groups are numbered from 0 in the order of their first
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
    """Picks groups at random until the dev split has its share of pairs.

    Args:
        groups: int [N], the group of each pair.
        fraction: the share of the pairs wanted in dev; the choice never
            exceeds it, because groups that are too large are passed over.
        seed: decides the choice.

    Returns:
        bool [N]: True for the pairs of the dev split.
    """
    wanted = int(len(groups) * fraction)
    sizes = np.bincount(groups)
    chosen = np.zeros(len(sizes), bool)
    for group in np.random.default_rng(seed).permutation(len(sizes)):
        if wanted <= 0:
            break
        if sizes[group] <= wanted:
            chosen[group] = True
            wanted -= sizes[group]
    return chosen[groups]
