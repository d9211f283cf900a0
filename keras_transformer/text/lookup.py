"""Lookup tokenizers: split text, then look each token up in a table."""

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
import tensorflow as tf

from keras_transformer.constants import SPECIAL_TOKENS, UNK_ID
from keras_transformer.errors import InputError
from keras_transformer.text.normalization import MARK, hash_table
from keras_transformer.text.symbol_tokens import split_around_symbols
from keras_transformer.text.tags import check_tags
from keras_transformer.text.tokenizer import UNKNOWN, Tokenizer
from keras_transformer.text.vocabulary_training import (
    count_tokens,
    frequent_tokens,
)

DEFAULT_SIZE = 50_000


class LookupTokenizer(Tokenizer):
    """Splits text, then looks each token up; subclasses define the splitting.

    The reserved tokens aren't in the table, so text that spells one, like
    `<s>`, never becomes its id.

    Args:
        tokens: every token in the order of its id, the four of
            `SPECIAL_TOKENS` first, then the tags.
        **normalization: `tags`, and see `Normalizer`.

    Raises:
        InputError: the reserved tokens don't come first, a token is empty or
            repeated, or an option isn't accepted (`OptionError`).
    """

    content_file = "vocabulary.txt"

    def __init__(self, tokens: Sequence[str], **normalization: Any) -> None:
        super().__init__(**normalization)
        tokens = list(tokens)
        reserved = len(SPECIAL_TOKENS)
        if tuple(tokens[:reserved]) != SPECIAL_TOKENS:
            raise InputError(
                "a vocabulary begins with " + " ".join(SPECIAL_TOKENS) + ". "
                f"Received: {' '.join(tokens[:reserved])}"
            )
        check_tags(tokens, self.tags)
        _require_distinct(tokens)
        # An array, as tf.Module would wrap each entry of a list.
        self._tokens = np.array(tokens, dtype=object)
        # TensorFlow refuses empty tables; the mark occurs in no text.
        ids = np.array([UNK_ID, *range(reserved, len(tokens))], np.int64)
        others = tokens[reserved:]
        self._ids = hash_table([MARK, *others], ids, UNK_ID)
        self._strings = hash_table(ids, [UNKNOWN, *others], UNKNOWN)

    @classmethod
    def train(
        cls,
        lines: Iterable[str],
        size: int = DEFAULT_SIZE,
        *,
        symbols: Sequence[str] = (),
        **options: Any,
    ) -> Self:
        """A tokenizer of the most frequent tokens of a text.

        Args:
            lines: the text, streamed.
            size: tokens at most, the reserved ones included.
            symbols: `symbols.SYMBOLS`, or empty if they aren't tokens.
            **options: arguments of the class.

        Raises:
            InputError: there is no text.
        """
        reserved = [*options.get("tags", ()), *symbols]
        # Only for splitting, which needs no vocabulary.
        counting = cls([*SPECIAL_TOKENS, *reserved], **options)
        counts = count_tokens(lines, counting.split)
        tokens = frequent_tokens(counts, size, cls.kind, reserved)
        return cls(tokens, **options)

    def split(self, strings: tf.Tensor) -> tf.RaggedTensor:
        """The tokens of each string, known or not, as ragged strings.

        Args:
            strings: string tensor `(B,)`, any bytes.

        Returns:
            RaggedTensor string `(B, None)`.
        """
        strings = tf.convert_to_tensor(strings, tf.string)
        return self._tagged(self.normalizer(strings), self._split)

    def with_tokens(self, added: Sequence[str]) -> Self:
        """See `Tokenizer.with_tokens`."""
        return type(self)([*self.tokens(), *added], **self.options())

    @property
    def vocabulary_size(self) -> int:
        """See `Tokenizer.vocabulary_size`."""
        return len(self._tokens)

    def tokens(self) -> list[str]:
        """See `Tokenizer.tokens`."""
        return self._tokens.tolist()

    def _split(self, strings):
        """Normalised strings `(B,)` to ragged tokens `(B, None)`."""
        raise NotImplementedError

    def _around_symbols(self, strings, split):
        """Splits strings `(B,)`, with each symbol as a token."""
        if self.first_symbol is None:
            return split(strings)
        return split_around_symbols(strings, split)

    def _encode(self, strings):
        tokens = self._split(strings)
        return tf.cast(self._ids.lookup(tokens), tf.int32)

    def _pieces_of(self, strings):
        return self._split(strings)

    def _strings_of(self, ids):
        return self._strings.lookup(tf.cast(ids, tf.int64))

    def _content(self):
        return "".join(f"{token}\n" for token in self._tokens).encode()

    @classmethod
    def _from_content(cls, content: bytes, options: dict) -> Self:
        try:
            lines = content.decode().split("\n")
        except UnicodeDecodeError:
            raise InputError("not UTF-8") from None
        if lines.pop() != "":
            raise InputError(f"cut off in line {len(lines) + 1}")
        return cls(lines, **options)


def _require_distinct(tokens):
    lines: dict = {}
    for line, token in enumerate(tokens, start=1):
        if not token or {"\n", MARK} & {*token}:
            raise InputError(
                f"line {line}: a token can't be empty or hold a line end, or "
                "U+FDD0"
            )
        if token in lines:
            raise InputError(
                f"line {line}: token {token!r} was line {lines[token]} already"
            )
        lines[token] = line
