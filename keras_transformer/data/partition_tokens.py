"""Tokens of a partition, numbered: text is split once, for counts and ids.

A vocabulary is known when all text has been split and its tokens counted. So
that it needn't be split again, each sentence is kept as numbers of tokens in a
list that its partition has; later the list is looked up, and numbers become
ids.
"""

import pathlib
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from keras_transformer.compat import graph_function
from keras_transformer.data.ids import Ids
from keras_transformer.text.lookup import LookupTokenizer

_BATCH = 4096  # sentences


def split_function(
    tokenizer: LookupTokenizer,
) -> tf.types.experimental.Callable:
    """The tokenizer's `split`, for `PartitionTokens`: then what it gives once.

    Returns:
        a function from strings `(B,)` to different tokens `(U,)`, the index
        among them of each token int32 `(M,)`, and tokens of each string int64
        `(B,)`.
    """

    def split(strings):
        tokens = tokenizer.split(strings)  # (B, None)
        different, indices = tf.unique(tokens.flat_values)
        return different, indices, tokens.row_lengths()

    return graph_function(split, [tf.TensorSpec([None], tf.string)])


class PartitionTokens:
    """Numbers the tokens of a partition's side as they come.

    Args:
        split: of `split_function`.
    """

    def __init__(self, split: Callable[[tf.Tensor], tf.RaggedTensor]) -> None:
        self._split = split
        self._numbers: dict[bytes, int] = {}

    def number(self, texts: list[str]) -> Ids:
        """The sentences as numbers of tokens."""
        values, lengths = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
        for start in range(0, len(texts), _BATCH):
            batch = tf.constant(texts[start : start + _BATCH])
            different, indices, counts = (x.numpy() for x in self._split(batch))
            numbers = [
                self._numbers.setdefault(token, len(self._numbers))
                for token in different.tolist()
            ]
            values.append(np.array(numbers, np.int32)[indices])
            lengths.append(counts)
        return Ids(np.concatenate(values), np.concatenate(lengths))

    @property
    def tokens(self) -> list[bytes]:
        """The tokens in the order of their numbers."""
        return list(self._numbers)

    def save(self, path: pathlib.Path) -> None:
        """Writes the tokens, of which none has an end of line."""
        path.write_bytes(b"".join(token + b"\n" for token in self._numbers))


def load_ids(path: pathlib.Path, tokenizer: LookupTokenizer) -> np.ndarray:
    """The ids of the tokens that `PartitionTokens.save` wrote: int32 `(U,)`."""
    tokens = path.read_bytes().split(b"\n")[:-1]
    return tokenizer.ids_of(tf.constant(tokens, tf.string)).numpy()
