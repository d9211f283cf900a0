"""Character tokenizer: one token per character."""

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from keras_transformer.constants import SPACE
from keras_transformer.text.lookup import LookupTokenizer
from keras_transformer.text.normalization import (
    UNSPACED,
    escape,
    squeeze,
    unescape,
)
from keras_transformer.text.options import require_boolean

_LATIN_RUN = r"[\p{Latin}0-9][\p{Latin}\p{Mn}0-9]*"


class CharacterTokenizer(LookupTokenizer):
    """One token per Unicode character.

    White space between Chinese or Japanese characters, or at the ends, is
    dropped; anywhere else a run of it is one token, so that "New York" comes
    back, and so do the spaces around it inside Chinese text.

    Args:
        tokens: every token in the order of its id, the reserved ones first.
        keep_latin_runs: whether a run of Latin letters and digits is one
            token.
        **normalization: `nfc`, `remove_control`, `simplify`; see
            `Normalizer`.

    Example:

    >>> tokenizer = CharacterTokenizer([*SPECIAL_TOKENS, "你", "好"])
    >>> ids = tokenizer.tokenize(["你好 。"])
    >>> ids.to_list()
    [[4, 5, 1]]
    >>> tokenizer.detokenize(ids).numpy()[0].decode()
    '你好⁇'
    """

    kind = "character"

    def __init__(
        self,
        tokens: Sequence[str],
        *,
        keep_latin_runs: bool = False,
        **normalization: Any,
    ) -> None:
        require_boolean("keep_latin_runs", keep_latin_runs)
        super().__init__(tokens, **normalization)
        self.keep_latin_runs = keep_latin_runs

    def options(self) -> dict:
        """See `Tokenizer.options`."""
        return {"keep_latin_runs": self.keep_latin_runs, **super().options()}

    def _split(self, strings):
        strings = squeeze(escape(strings))
        # Twice, as a match takes the character that the next begins with.
        for _ in range(2):
            strings = tf.strings.regex_replace(
                strings, f"([{UNSPACED}]) ([{UNSPACED}])", r"\1\2"
            )
        strings = tf.strings.regex_replace(strings, " ", SPACE)
        if not self.keep_latin_runs:
            return tf.strings.unicode_split(strings, "UTF-8")
        strings = tf.strings.regex_replace(
            strings, f"(?s){_LATIN_RUN}|.", r"\0 "
        )
        return tf.strings.split(strings)

    def _pieces_of(self, strings):
        pieces = self._split(strings)
        return tf.ragged.map_flat_values(
            lambda flat: unescape(_without_space(flat)), pieces
        )

    def _join(self, tokens):
        text = tf.strings.reduce_join(tokens, axis=1)
        return unescape(tf.strings.regex_replace(text, SPACE, " "))


def _without_space(tokens):
    return tf.where(tokens == SPACE, "", tokens)
