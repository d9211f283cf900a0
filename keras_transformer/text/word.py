"""Words as NLTK splits them."""

import tensorflow as tf

from keras_transformer.text.lookup import LookupTokenizer
from keras_transformer.text.word_rules import SPLIT_RULES
from keras_transformer.text.word_spacing import JOIN_RULES, TOKEN_SEPARATOR


class WordTokenizer(LookupTokenizer):
    """English words and punctuation.

    Splits as `nltk.word_tokenize(text.lower(), preserve_line=True)` does,
    except next to characters whose class or lower case Unicode settled after
    the version that RE2, ICU or Python follows (as U+2C2F, added in 2021).
    `detokenize` gives back readable text, in lower case if it was lowered.

    Args:
        tokens: every token in the order of its id, the reserved ones first.
        lowercase: whether text is lowered first.
        **normalization: `nfc`, `remove_control`, `simplify`; see
            `Normalizer`.

    Example:

    >>> tokenizer = WordTokenizer([*SPECIAL_TOKENS, "do", "n't", "."])
    >>> ids = tokenizer.tokenize(["Don't."])
    >>> ids.to_list()
    [[4, 5, 6]]
    >>> tokenizer.detokenize(ids).numpy()
    array([b"don't."], dtype=object)
    """

    kind = "word"

    def __init__(self, tokens, *, lowercase=True, **normalization):
        super().__init__(tokens, **normalization)
        self.lowercase = lowercase

    def options(self):
        return {"lowercase": self.lowercase, **super().options()}

    def _split(self, strings):
        if self.lowercase:
            strings = _lower(strings)
        return tf.strings.split(_apply(SPLIT_RULES, strings))

    def _pieces_of(self, strings):
        spaced = _spaced(strings)
        if self.lowercase:
            # The tokens are those of lowered text, and a few rules heed case.
            lowered = _spaced(_lower(strings))
            spaced = tf.where(_lower(spaced) == lowered, spaced, lowered)
        # As they were typed.
        return tf.strings.split(tf.strings.regex_replace(spaced, "``|''", '"'))

    def _join(self, tokens):
        text = tf.strings.reduce_join(tokens, axis=1, separator=TOKEN_SEPARATOR)
        return tf.strings.strip(_apply(JOIN_RULES, text))


def _lower(strings):
    # ASCII first: ICU lowers "I" by the machine's language.
    strings = tf.strings.lower(strings)
    return tf.strings.lower(strings, encoding="utf-8")


def _spaced(strings):
    """Strings `[B]` with one space between tokens."""
    tokens = tf.strings.split(_apply(SPLIT_RULES, strings))
    return tf.strings.reduce_join(tokens, axis=1, separator=" ")


def _apply(rules, strings):
    for pattern, rewrite in rules:
        strings = tf.strings.regex_replace(strings, pattern, rewrite)
    return strings
