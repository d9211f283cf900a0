"""Sentences as a search takes them. Axes: B sentences, S source tokens."""

from typing import NamedTuple

import tensorflow as tf

from keras_transformer.constants import PAD_ID
from keras_transformer.text.framing import frame


class Source(NamedTuple):
    """Sentences as a search takes them.

    Attributes:
        ids: int32 `(B, S)`, framed by START and END, PAD after.
        lengths: int32 `(B,)`, tokens without START and END.
        truncated: bool `(B,)`, whether the sentence was longer than the
            model and lost its end.
    """

    ids: tf.Tensor
    lengths: tf.Tensor
    truncated: tf.Tensor


def source_of(text, tokenizer, max_length: int) -> Source:
    """Tokenizes; what exceeds the model's length is cut off.

    Args:
        text: string `(B,)`.
        tokenizer: `tokenize(strings) -> ragged int32`.
        max_length: positions that the model has.
    """
    ids = tokenizer.tokenize(text)
    lengths = tf.cast(ids.row_lengths(), tf.int32)
    most = max_length - 2
    return Source(
        ids=frame(ids[:, :most]).to_tensor(PAD_ID),
        lengths=tf.minimum(lengths, most),
        truncated=lengths > most,
    )


def surface_of(text, tokenizer, max_length: int):
    """What the source's tokens look like in the text.

    Args:
        text: string `(B,)`.
        tokenizer: `surface(strings) -> ragged string`.
        max_length: positions that the model has.

    Returns:
        string `(B, S)`, one for one with the ids of `source_of`; "" for
        START, END and PAD.
    """
    surface = tokenizer.surface(text)[:, : max_length - 2]
    edge = tf.fill([surface.nrows(), 1], "")
    return tf.concat([edge, surface, edge], axis=1).to_tensor("")
