"""Traditional to simplified Chinese, with OpenCC's dictionaries, in a graph."""

import re

import tensorflow as tf

from keras_transformer.chinese import simplified

# Wraps phrases for a moment; the normalizer lets none through from outside.
_MARK = "\ufdd0"


class Simplifier(tf.Module):
    """OpenCC's dictionaries as graph code, to use where text is served.

    Call arguments:
        strings: valid UTF-8 `(B,)`, as `Normalizer` leaves it.

    Returns:
        The strings `(B,)`. They are OpenCC's, except where two phrases of its
        dictionary overlap and it takes the later one.
    """

    def __init__(self):
        super().__init__()
        phrases = simplified("TSPhrases.txt")
        characters = simplified("TSCharacters.txt")
        # RE2 takes the first alternative that fits: longest first.
        longest_first = sorted(phrases, key=len, reverse=True)
        self._pattern = "(" + "|".join(map(re.escape, longest_first)) + ")"
        self._phrases = _table(
            tf.constant(list(phrases)), tf.constant(list(phrases.values())), ""
        )
        self._characters = _table(
            [ord(key) for key in characters],
            [ord(value) for value in characters.values()],
            -1,
        )

    def __call__(self, strings):
        # Phrases and what lies between them, apart: "a\ufdd0phrase\ufdd0b".
        strings = tf.strings.regex_replace(
            strings, self._pattern, rf"{_MARK}\1{_MARK}"
        )
        parts = tf.strings.split(strings, _MARK)  # (B, None)
        parts = tf.ragged.map_flat_values(self._simplify_parts, parts)
        return tf.strings.reduce_join(parts, axis=1)

    def _simplify_parts(self, parts):
        phrases = self._phrases.lookup(parts)
        return tf.where(
            phrases == "", self._simplify_characters(parts), phrases
        )

    def _simplify_characters(self, parts):
        points = tf.strings.unicode_decode(parts, "UTF-8")  # (B, None)

        def replace(values):
            simple = self._characters.lookup(tf.cast(values, tf.int64))
            return tf.where(simple < 0, values, tf.cast(simple, tf.int32))

        points = tf.ragged.map_flat_values(replace, points)
        return tf.strings.unicode_encode(points, "UTF-8")


def _table(keys, values, default):
    """A hash table; plain numbers are 64 bits wide."""
    dtype = None if tf.is_tensor(keys) else tf.int64
    return tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(keys, values, dtype, dtype),
        default_value=default,
    )
