"""Keys: 63 bits of a digest for each pair and each side.

Two sentences are the same if their sentence keys are: case, width, punctuation
and the variety of Chinese don't matter. A sentence key is the text in NFKC,
lower case, letters, vowel signs and digits only, traditional characters mapped
to simplified.

What is compared, sorted and counted are fingerprints: 63 bits of a BLAKE2
digest, non-negative and thus the same number to NumPy and to any SQL. Two
different texts among n are taken for one with a probability of about n^2 /
2^64: one in 1,800 for a hundred million.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from keras_transformer.constants import TAG
from keras_transformer.data.corpus import Pair
from keras_transformer.text.chinese import simplify

KEY_BITS = 63
# Characters of a text, or of a word in a longer text, that are normalised
# together: the time is quadratic in how many marks follow one another.
_TOGETHER = 256
_LEADING_TAGS = re.compile(rf"(?:{TAG}\s*)+")
# The first words of their names.
_OPTIONAL_MARKS = {"COMBINING", "VARIATION", "HEBREW", "ARABIC", "SYRIAC"}


def sentence_keys(texts: Iterable[str]) -> Iterator[str]:
    """The normalised forms under which two sentences are the same.

    A text without any letter or digit is its own key, so that "?" and "!"
    stay apart. Tags before a text don't count.
    """
    for text in map(without_tags, texts):
        folded = nfkc(text).casefold()
        key = folded.translate(_SAID) or text
        # Most sentences of an alphabet are spared a look for characters.
        yield key if key.isascii() else next(simplify([key]))


def nfkc(text: str) -> str:
    """A text in normalization form KC, in a time linear in its length.

    Words of more than 256 characters are cut, and a letter may stay apart
    from marks behind the cut.
    """
    if len(text) <= _TOGETHER:
        return unicodedata.normalize("NFKC", text)
    # Nothing is composed with a space.
    return " ".join(map(_nfkc_of_word, text.split(" ")))


def _nfkc_of_word(word):
    return "".join(
        unicodedata.normalize("NFKC", word[begin : begin + _TOGETHER])
        for begin in range(0, len(word), _TOGETHER)
    )


def without_tags(text: str) -> str:
    """A text without what looks like tags at its beginning.

    Two sentences are the same, whatever their tags; these needn't be known.
    """
    match = _LEADING_TAGS.match(text)
    return text[match.end() :] if match else text


class _Said(dict):
    """Code points for `str.translate`: themselves, or None."""

    def __missing__(self, point):
        kept = self[point] = point if _is_said(chr(point)) else None
        return kept


_SAID = _Said()


def _is_said(character):
    """True for a letter, a digit or a sign for a vowel or tone.

    The marks that some scripts leave out as they like aren't.
    """
    if unicodedata.category(character)[0] != "M":
        return character.isalnum()
    script = unicodedata.name(character, "COMBINING").split()[0]
    return script not in _OPTIONAL_MARKS


def fingerprints(
    texts: Iterable[str], purpose: str, seed: int = 0
) -> np.ndarray:
    """63 bits of each text's BLAKE2 digest, the same in each process.

    Args:
        texts: N of them.
        purpose: up to 16 letters; another purpose gives other fingerprints,
            and so does
        seed: below 2^64.

    Returns:
        int64 `(N,)`, none negative.
    """
    empty = hashlib.blake2b(
        digest_size=8, salt=seed.to_bytes(8, "little"), person=purpose.encode()
    )
    digests = b"".join(_digests(empty, texts))
    values = np.frombuffer(digests, "<u8") >> np.uint64(64 - KEY_BITS)
    return values.astype(np.int64)


def _digests(empty, texts):
    for text in texts:
        state = empty.copy()
        state.update(text.encode())
        yield state.digest()


class PairKeys(NamedTuple):
    """The fingerprints of some pairs, each int64 `(N,)`.

    Attributes:
        shuffle: of both texts as they are. Prepared data is in its order,
            a random one, the same however the corpus was ordered.
        source: of the source's sentence key.
        target: of the target's sentence key; never one of a source.
    """

    shuffle: np.ndarray
    source: np.ndarray
    target: np.ndarray


def pair_keys(pairs: Sequence[Pair], seed: int = 0) -> PairKeys:
    """The keys of some pairs.

    Args:
        pairs: cleaned; those of held-out files as they are.
        seed: of all digests, so that it decides the order and the dev split.
    """
    shuffle = (f"{source}\t{target}" for source, target in pairs)
    sources = sentence_keys(source for source, _ in pairs)
    targets = sentence_keys(target for _, target in pairs)
    return PairKeys(
        fingerprints(shuffle, "shuffle", seed),
        fingerprints(sources, "source", seed),
        fingerprints(targets, "target", seed),
    )


def key_range(shard: int, shards: int) -> tuple[int, int]:
    """The first and the last shuffle key of a shard.

    The keys' range is cut evenly: key k belongs to shard
    `((k >> 31) * shards) >> 32`.

    Args:
        shard: its number.
        shards: how many, below 2^31.
    """
    first, end = (
        -(-(n << (KEY_BITS - 31)) // shards) << 31 for n in (shard, shard + 1)
    )
    return first, end - 1
