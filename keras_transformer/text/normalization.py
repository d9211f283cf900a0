"""Normalisation of text before it is split: graph code, each step an option.

The same object runs in preparation, training and the exported model, so a
character means the same thing in all three.
"""

import tensorflow as tf

from keras_transformer.text import chinese

# Members of a character class for RE2, whose own \s knows ASCII only.
WHITE_SPACE = (
    r"\t-\r\x1c- \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}"
    r"\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
)

# A code point that Unicode keeps for the inside of programs. Tokenizers may
# write it into text as a mark: the normalizer lets none through.
MARK = "\ufdd0"

# The byte order mark and the marks of writing direction: invisible, and in
# web text mostly left behind by editors.
_INVISIBLE = r"[\x{feff}\x{200e}\x{200f}\x{202a}-\x{202e}\x{2066}-\x{2069}]"


class Normalizer(tf.Module):
    """Repairs and unifies strings of any shape.

    Broken UTF-8 becomes U+FFFD, whatever the options; so do line ends and
    NUL become spaces, which a vocabulary of one token a line and ICU's C
    strings can't hold.

    Args:
        nfc: bring text to Unicode normalization form C.
        remove_control: control characters and line separators become
            spaces; byte order and direction marks disappear.
        simplify: traditional Chinese characters become simplified ones
            (see `keras_transformer.text.chinese`).
    """

    def __init__(self, *, nfc=True, remove_control=True, simplify=False):
        super().__init__()
        self.nfc = nfc
        self.remove_control = remove_control
        self.simplify = simplify
        self._simplifier = chinese.Simplifier() if simplify else None

    def __call__(self, strings):
        """Normalises a string tensor of rank 1."""
        strings = tf.strings.unicode_transcode(
            strings, "UTF-8", "UTF-8", errors="replace"
        )
        strings = tf.strings.regex_replace(strings, MARK, "\ufffd")
        if self.remove_control:
            strings = tf.strings.regex_replace(
                strings, r"[\p{Cc}\x{2028}\x{2029}]", " "
            )
            strings = tf.strings.regex_replace(strings, _INVISIBLE, "")
        else:
            strings = tf.strings.regex_replace(strings, r"[\x00\n\r]", " ")
        if self.nfc:
            # Its libraries take 120 MiB: for those who meet text only.
            import tensorflow_text as tf_text

            strings = tf_text.normalize_utf8(strings, "NFC")
        if self._simplifier is not None:
            strings = self._simplifier(strings)
        return strings


def squeeze(strings):
    """White space runs become one space, and none stays at the ends."""
    strings = tf.strings.regex_replace(strings, f"[{WHITE_SPACE}]+", " ")
    return tf.strings.strip(strings)
