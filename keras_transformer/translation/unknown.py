"""What stands for a translation's unknown tokens: the source's own words.

Axes: B sentences, K hypotheses, R = B * K rows, T output tokens, S source
tokens.
"""

import tensorflow as tf

from keras_transformer.constants import UNK_ID


def replacements(score, source_ids, surface, ids):
    """A source token for every unknown token, found in one pass.

    There is no pass where nothing is unknown.

    Args:
        score: `(source_ids (R, S), ids (R, T)) -> Scores` of a model that
            was asked to align.
        source_ids: int32 `(B, S)`.
        surface: string `(B, S)`, "" for what isn't text.
        ids: int32 `(B, K, T)`.

    Returns:
        string `(R, T)`, "" for known tokens.
    """
    shape = tf.shape(ids)
    flat = tf.reshape(ids, [shape[0] * shape[1], shape[2]])
    unknown = flat == UNK_ID

    def find():
        scores = score(tf.repeat(source_ids, shape[1], axis=0), flat)
        if scores.attention is None:
            raise ValueError(
                "unknown words are replaced by what the model attends to. "
                "Accepted: a model built with align=True"
            )
        rows = tf.repeat(surface, shape[1], axis=0)
        found = most_attended(scores.attention, rows)
        return tf.where(unknown, found, "")

    return tf.cond(
        tf.reduce_any(unknown), find, lambda: tf.fill(tf.shape(flat), "")
    )


def most_attended(attention, surface):
    """The source token that each output token attends to most.

    Args:
        attention: float32 `(R, T, S)`.
        surface: string `(R, S)`; what is "" is never chosen.

    Returns:
        string `(R, T)`, "" in rows without text.
    """
    textual = (surface != "")[:, tf.newaxis]
    places = tf.argmax(tf.where(textual, attention, -1.0), axis=2)
    return tf.gather(surface, places, batch_dims=1)
