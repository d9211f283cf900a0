"""Space tokenizer: for text that is already split by spaces into tokens."""

import tensorflow as tf

from keras_transformer.text.lookup import LookupTokenizer


class SpaceTokenizer(LookupTokenizer):
    """One token per run of characters without a space.

    For text that another program has tokenized. `detokenize` returns text in
    the same form, which that program can detokenize.

    Args:
        tokens: every token in the order of its id, the reserved ones first.
        **normalization: `tags`, and those of `Normalizer`; see `Tokenizer`.

    Example:

    >>> tokenizer = SpaceTokenizer([*SPECIAL_TOKENS, "Do", "n't"])
    >>> ids = tokenizer.tokenize(["Do n't !"])
    >>> ids.to_list()
    [[4, 5, 1]]
    >>> tokenizer.detokenize(ids).numpy()[0].decode()
    "Do n't ⁇"
    """

    kind = "space"

    def _split(self, strings):
        # (B, None)
        return self._around_symbols(strings, tf.strings.split)

    def _join(self, tokens):
        return tf.strings.reduce_join(tokens, axis=1, separator=" ")
