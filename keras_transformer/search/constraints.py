"""What a search may generate.

Everything here turns logits into logits: minus infinity forbids a token, and
the normalizer, which is worked out before, keeps the probabilities of the
others as the model gave them. Axes: B sentences, K beams, T output tokens, P
tokens of a prefix, V vocabulary.
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.constants import END_ID, PAD_ID, START_ID
from keras_transformer.search.hypotheses import Normalization

NEVER_GENERATED = (PAD_ID, START_ID)
_FORBIDDEN = -float("inf")


class Sentences(NamedTuple):
    """What is asked of each sentence. `()` where nothing is.

    Attributes:
        limits: int32 `(B,)`, the output tokens allowed, END included.
        minimums: int32 `(B,)`, tokens before END may come.
        prefixes: int32 `(B, P)`, what the output begins with, PAD after.
        randomness: uint8 `(B, 16)`, a sentence's own source of chance.
    """

    limits: Any
    minimums: Any = ()
    prefixes: Any = ()
    randomness: Any = ()


@dataclasses.dataclass(frozen=True)
class Constraints:
    """The rules of a search, the same for all sentences.

    Attributes:
        banned: ids that are never generated, beside PAD and START.
        no_repeat_ngram_size: no sequence of so many tokens occurs twice;
            0: any may.
        repetition_penalty: what the log-probability of a token that was
            generated before is multiplied by; 1: nothing (Keskar et al.
            2019, section 4.1, there on logits).
        normalization: from log-probabilities to scores.
    """

    banned: tuple[int, ...] = ()
    no_repeat_ngram_size: int = 0
    repetition_penalty: float = 1.0
    normalization: Normalization = Normalization()

    def apply(self, logits, normalizer, ids, sentences: Sentences, step):
        """Logits with minus infinity where no search may go.

        Args:
            logits: float32 `(B, K, V)`.
            normalizer: float32 `(B, K)`, as `log_normalizer` gives it.
            ids: int32 `(B, K, T)`, the output so far, PAD after.
            sentences: what is asked of each.
            step: int32 scalar, the position that comes next.

        Returns:
            float32 `(B, K, V)`.
        """
        size = logits.shape[-1]
        plain = logits
        if self.repetition_penalty != 1:
            logits = self._penalise(logits, normalizer, ids)
        forbidden = _at(size, (*NEVER_GENERATED, *self.banned))
        forbidden = tf.constant(forbidden, tf.float32)
        if not isinstance(sentences.minimums, tuple):
            early = step < sentences.minimums
            forbidden += tf.where(
                early[:, tf.newaxis], tf.constant(_at(size, (END_ID,))), 0.0
            )[:, tf.newaxis]
        logits += forbidden
        if self.no_repeat_ngram_size:
            logits = self._without_repeats(logits, ids, step)
            logits = _end_dead_ends(logits, plain)
        if not isinstance(sentences.prefixes, tuple):
            # A prefix is a wish that outdoes every rule.
            logits = _force(logits, plain, sentences.prefixes, step)
        return logits

    def _penalise(self, logits, normalizer, ids):
        normalizer = normalizer[..., tf.newaxis]
        penalised = normalizer + self.repetition_penalty * (logits - normalizer)
        return tf.where(_mentioned(ids, logits), penalised, logits)

    def _without_repeats(self, logits, ids, step):
        size = self.no_repeat_ngram_size
        length = tf.shape(ids)[2]
        starts = tf.range(length)
        # An n-gram that begins at `starts` and is complete.
        repeated = (starts + size <= step)[tf.newaxis, tf.newaxis]
        for offset in range(size - 1):
            last = tf.maximum(step - (size - 1) + offset, 0)
            repeated &= tf.roll(ids, -offset, axis=2) == ids[:, :, last, None]
        endings = tf.roll(ids, -(size - 1), axis=2)
        endings = tf.where(repeated, endings, PAD_ID)
        return tf.where(_mentioned(endings, logits), _FORBIDDEN, logits)


def _mentioned(ids, logits):
    """bool `(B, K, V)`: which tokens stand in `ids` `(B, K, T)`."""
    shape = tf.shape(logits)
    rows = tf.range(shape[0] * shape[1])[:, tf.newaxis]
    flat = tf.reshape(ids, [shape[0] * shape[1], -1])
    places = tf.stack([rows + tf.zeros_like(flat), flat], axis=-1)
    counts = tf.scatter_nd(
        tf.reshape(places, [-1, 2]),
        tf.ones([tf.size(flat)]),
        [shape[0] * shape[1], shape[2]],
    )
    return tf.reshape(counts, shape) > 0


def _end_dead_ends(logits, plain):
    """END allowed where nothing else is, as probable as the model says."""
    dead = tf.reduce_max(logits, axis=-1, keepdims=True) == _FORBIDDEN
    is_end = tf.range(logits.shape[-1]) == END_ID
    return tf.where(dead & is_end, plain, logits)


def _force(logits, plain, prefixes, step):
    """Leaves only a prefix's token, where there is one at this step."""
    length = tf.shape(prefixes)[1]
    padded = tf.pad(prefixes, [[0, 0], [0, 1]], constant_values=PAD_ID)
    forced = padded[:, tf.minimum(step, length), tf.newaxis]  # (B, 1)
    wanted = (tf.range(logits.shape[-1]) == forced)[:, tf.newaxis]  # (B, 1, V)
    only = tf.where(wanted, plain, _FORBIDDEN)
    return tf.where(forced[..., tf.newaxis] == PAD_ID, logits, only)


def _at(size, ids):
    """float32 `(V,)`, minus infinity at the ids, 0 elsewhere."""
    row = np.zeros(size, np.float32)
    row[list(ids)] = _FORBIDDEN
    return row
