"""Leaks: held-out sentences in the training data, counted or removed from it.

Two sentences are the same if their keys are: case, width, punctuation and the
variety of Chinese don't matter. A key is the text in NFKC, lower case, letters,
vowel signs and digits only, traditional characters mapped to simplified.
"""

import functools
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from keras_transformer.data.corpus import Pair
from keras_transformer.data.deduplication import contains, fingerprints
from keras_transformer.text.chinese import simplify
from keras_transformer.text.tags import without_tags

# The first words of their names.
_OPTIONAL_MARKS = {"COMBINING", "VARIATION", "HEBREW", "ARABIC", "SYRIAC"}


def sentence_keys(texts: Iterable[str]) -> Iterator[str]:
    """The normalised forms under which two sentences are the same.

    A text without any letter or digit is its own key, so that "?" and "!"
    stay apart. Tags before a text don't count.
    """
    for text in map(without_tags, texts):
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


def pair_keys(pairs: Sequence[Pair]) -> np.ndarray:
    """The fingerprints of both sides' sentence keys.

    Returns:
        uint64 `(N, 2)`: source, target; the two sides never meet.
    """
    sources = sentence_keys(source for source, _ in pairs)
    targets = sentence_keys(target for _, target in pairs)
    return np.stack(
        [
            fingerprints(f"source\t{key}" for key in sources),
            fingerprints(f"target\t{key}" for key in targets),
        ],
        axis=1,
    )


class LeakGuard:
    """Drops training pairs that a held-out file has too.

    Holds 16 bytes a held-out pair.

    Args:
        match: `"pair"`: both sides, in the same held-out pair; `"source"`:
            the source, whatever its translation; `"side"`: the source or the
            target, as dev pairs taken from the corpus are kept apart.
    """

    def __init__(self, match: str):
        self._match = match
        self._chunks = []
        self._held_out = np.empty(0, np.uint64)

    def hold_out(self, pairs: Sequence[Pair]):
        """Adds held-out pairs, before the first training pair comes."""
        self._chunks.append(self._values(pair_keys(pairs)).ravel())

    def __call__(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Which training pairs may stay: bool `(N,)`."""
        if self._chunks:
            self._held_out = np.unique(np.concatenate(self._chunks))
            self._chunks.clear()
        values = self._values(pair_keys(pairs))
        return ~contains(self._held_out, values).any(axis=1)

    def _values(self, keys):
        """What is compared, uint64 `(N, 1)` or `(N, 2)`, of keys `(N, 2)`."""
        if self._match == "source":
            return keys[:, :1]
        if self._match == "side":
            return keys
        # Both are digests: a sum of unlike multiples, modulo 2^64, is as good
        # as a digest of the two.
        return keys[:, :1] + np.uint64(3) * keys[:, 1:]


class Overlap:
    """Counts the dev pairs of which training holds a side.

    Args:
        dev_keys: uint64 `(N, 2)`, the keys of the dev pairs.
    """

    def __init__(self, dev_keys: np.ndarray):
        self._dev_keys = dev_keys
        self._sorted = np.unique(dev_keys)
        self._in_training = np.zeros(len(self._sorted), bool)

    def add(self, training_keys: np.ndarray):
        """Notes some training pairs: uint64 `(M, 2)`."""
        keys = np.unique(training_keys)
        self._in_training |= contains(keys, self._sorted)

    @property
    def count(self) -> int:
        """Dev pairs whose source or target was in training so far."""
        leaked = self._sorted[self._in_training]
        return int(contains(leaked, self._dev_keys).any(axis=1).sum())
