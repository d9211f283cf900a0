"""What a translator makes of its texts, token by token, as dense tensors.

Axes: B sentences, L and S source tokens, T target tokens. L, S and T are as
long as the longest of a batch needs, so they vary between batches.
"""

import tensorflow as tf

from keras_transformer.constants import PAD_ID
from keras_transformer.translation.details import token_strings
from keras_transformer.translation.translator import Translator

_TEXT = tf.TensorSpec([None], tf.string, name="text")


def tokenize(translator: Translator):
    """The graph function for the source's ids.

    Returns:
        A `tf.function` from `text` string `(B,)` to `{"ids": int32 (B, L),
        "length": int32 (B,)}`: whole texts without START and END, PAD after,
        and how many ids they have. The model's limit cuts nothing off here.
    """

    def run(text):
        ids = translator.source_tokenizer.tokenize(text)
        return {
            "ids": ids.to_tensor(PAD_ID),
            "length": tf.cast(ids.row_lengths(), tf.int32),
        }

    return tf.function(run, input_signature=[_TEXT])


def align(translator: Translator):
    """The graph function for what the best translation attended to.

    Args:
        translator: whose model aligns.

    Returns:
        A `tf.function` from `text` string `(B,)` to a dictionary:
        `source_tokens` string `(B, S)`, as they look in the text, "" for
        START, END and what follows; `target_tokens` string `(B, T)`, as the
        vocabulary has them, END included, "" after; `alignment` float32 `(B,
        T, S)`, the shares of the source that each target token attended to,
        which sum to 1 where there is a token and are 0 where there is none;
        `truncated` bool `(B,)`, whether the text was too long for the model
        and lost its end. A blank text has no target token.
    """

    def run(text):
        source = translator.prepare(text)
        result = translator.search(source, num_hypotheses=1)
        # The search makes room for more than it needs; the model needs a
        # column at least.
        longest = tf.maximum(tf.reduce_max(result.lengths), 1)
        ids = result.ids[:, 0, :longest]
        missing = tf.maximum(1 - tf.shape(ids)[1], 0)
        ids = tf.pad(ids, [[0, 0], [0, missing]], constant_values=PAD_ID)
        shares = translator.score_ids(source.ids, ids).attention
        is_token = (ids != PAD_ID)[:, :, tf.newaxis]
        return {
            "source_tokens": translator.surface(text),
            "target_tokens": token_strings(translator, ids),
            "alignment": tf.where(is_token, shares, 0.0),
            "truncated": source.truncated,
        }

    return tf.function(run, input_signature=[_TEXT])
