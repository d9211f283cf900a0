"""Graph code that separates symbols from the text around them, and back.

A word should be the same token whether a symbol is beside it or not. Pieces of
SentencePiece begin with the space before a word, which an opening symbol would
separate from it: `Click ⟨1⟩OK⟨/1⟩.` becomes `Click⟨1⟩ OK⟨/1⟩.`, and back.
"""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from keras_transformer.symbols import OPENING_SYMBOL, SYMBOL, TERM_TARGET
from keras_transformer.text.normalization import MARK, replaced

# Rules that toggle the space after `TERM_TARGET`: added if missing, else
# removed.
_TOGGLED = (
    (f"{TERM_TARGET} ", MARK),
    (TERM_TARGET, f"{TERM_TARGET} "),
    (MARK, TERM_TARGET),
)


def split_around_symbols(
    strings: tf.Tensor, split: Callable[[tf.Tensor], tf.RaggedTensor]
) -> tf.RaggedTensor:
    """Splits texts into tokens, with each symbol as a token.

    Args:
        strings: normalised string tensor `(B,)`.
        split: maps the texts between symbols `(P,)` to tokens, ragged
            `(P, None)`.

    Returns:
        RaggedTensor string `(B, None)`.
    """
    marked = replaced(strings, (f"({SYMBOL})", rf"{MARK}\1{MARK}"))
    parts = tf.strings.split(marked, MARK)  # (B, None), P in all
    texts = parts.flat_values
    is_symbol = tf.strings.regex_full_match(texts, SYMBOL)
    symbols = tf.RaggedTensor.from_row_lengths(
        tf.boolean_mask(texts, is_symbol),
        tf.cast(is_symbol, tf.int64),
        validate=False,
    )  # (P, None)
    tokens = split(tf.where(is_symbol, "", texts))
    tokens = tf.concat([symbols, tokens], axis=1)  # (P, None)
    return parts.with_flat_values(tokens).merge_dims(1, 2)  # (B, None)


def spaces_to_words(strings: tf.Tensor, starts_word: bool) -> tf.Tensor:
    """Moves the space before opening symbols behind them.

    Of several symbols in a row, the first space moves behind the last symbol,
    the others before the symbol that they follow. The space before a term's
    target words is toggled: added if missing, else removed.

    Args:
        strings: string tensor `(B,)`, white space squeezed.
        starts_word: True if the tokenizer treats the beginning of a text as if
            a space preceded it. A space between the text's first symbols and
            its first word is lost then.
    """
    if starts_word:
        strings = replaced(strings, (f"^({OPENING_SYMBOL})", r" \1"))
    return replaced(
        strings,
        (f"( ?)((?:{OPENING_SYMBOL} ?)+)", rf"\2{MARK}\1"),
        (f"({OPENING_SYMBOL})( ?)", r"\2\1"),
        (MARK, ""),
        *_TOGGLED,
    )


def spaces_from_words(strings: tf.Tensor) -> tf.Tensor:
    """The inverse of `spaces_to_words`, except for a space at the beginning."""
    return replaced(
        strings,
        *_TOGGLED,
        (f"((?: ?{OPENING_SYMBOL})+)( ?)", rf"\2{MARK}\1"),
        (f"( ?)({OPENING_SYMBOL})", r"\2\1"),
        (MARK, ""),
    )
