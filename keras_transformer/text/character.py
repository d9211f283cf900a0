"""Character tokenizer: one token per character."""

import tensorflow as tf

from keras_transformer.constants import SPACE
from keras_transformer.text.lookup import LookupTokenizer
from keras_transformer.text.normalization import (
    UNSPACED,
    escape,
    replaced,
    squeeze,
    unescape,
)


class CharacterTokenizer(LookupTokenizer):
    """One token per Unicode character.

    White space between Chinese or Japanese characters, or at the ends, is
    dropped; anywhere else a run of it is one token, so that "New York", and the
    spaces around it inside Chinese text, are restored.

    Args:
        tokens: every token in the order of its id, the reserved ones first.
        **normalization: `tags`, and those of `Normalizer`; see `Tokenizer`.

    Example:

    >>> tokenizer = CharacterTokenizer([*SPECIAL_TOKENS, "你", "好"])
    >>> ids = tokenizer.tokenize(["你好 。"])
    >>> ids.to_list()
    [[4, 5, 1]]
    >>> tokenizer.detokenize(ids).numpy()[0].decode()
    '你好⁇'
    """

    kind = "character"

    def _split(self, strings):
        strings = squeeze(escape(strings))
        # Twice, as a match consumes the character that the next begins with.
        between = (f"([{UNSPACED}]) ([{UNSPACED}])", r"\1\2")
        strings = replaced(strings, between, between, (" ", SPACE))
        return self._around_symbols(
            strings, lambda texts: tf.strings.unicode_split(texts, "UTF-8")
        )

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
