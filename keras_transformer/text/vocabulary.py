"""Vocabularies by frequency, counted in one pass over the text."""

import collections
import itertools
from collections.abc import Iterable, Iterator

import tensorflow as tf

from keras_transformer.constants import SPECIAL_TOKENS

_BATCH_SIZE = 4096


def count_tokens(lines: Iterable[str], split) -> collections.Counter:
    """How often each token occurs.

    Args:
        lines: text, streamed.
        split: graph code from strings `[B]` to ragged tokens `[B, None]`,
            as `LookupTokenizer.split`.

    Returns:
        Counter of tokens as `str`.
    """
    split = tf.function(
        split, input_signature=[tf.TensorSpec([None], tf.string)]
    )
    counts = collections.Counter()
    for batch in batches(lines, _BATCH_SIZE):
        counts.update(split(tf.constant(batch)).flat_values.numpy().tolist())
    return collections.Counter(
        {token.decode(): count for token, count in counts.items()}
    )


def frequent_tokens(counts: collections.Counter, size: int) -> list[str]:
    """The reserved tokens, then the most frequent ones, `size` in all.

    Equally frequent tokens stand in the order of their code points, so that
    the same text always gives the same ids.
    """
    for token in SPECIAL_TOKENS:
        counts.pop(token, None)
    ranked = sorted(counts, key=lambda token: (-counts[token], token))
    return [*SPECIAL_TOKENS, *ranked[: size - len(SPECIAL_TOKENS)]]


def batches(lines: Iterable[str], size: int) -> Iterator[list[str]]:
    """Lists of up to `size` lines, until there are no more."""
    iterator = iter(lines)
    while batch := list(itertools.islice(iterator, size)):
        yield batch
