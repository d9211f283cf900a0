"""Constraints on what a search may generate.

`SearchConstraints` hold for every sentence, `SentenceConstraints` for one
each. Applied to the logits of a step they make logits again: minus infinity
forbids a token, and the log-normalizer, which is computed before, keeps the
probabilities of the others as the model gave them.

Axes: B sentences, K beams, T output tokens, P tokens of a prefix,
V vocabulary.
"""

import dataclasses
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.constants import END_ID, PAD_ID, START_ID
from keras_transformer.search.loop import StepModel
from keras_transformer.search.scoring import LengthPenalty
from keras_transformer.search.structure import SourceSymbols, with_structure

NEVER_GENERATED = (PAD_ID, START_ID)
_FORBIDDEN = -float("inf")


class SentenceConstraints(NamedTuple):
    """Constraints on each sentence; `()` for those that aren't set.

    Attributes:
        max_lengths: int32 `(B,)`, the output tokens allowed, END included.
        min_lengths: int32 `(B,)`, tokens before END may come.
        prefixes: int32 `(B, P)`, what the output begins with, PAD after.
        sampling_keys: uint8 `(B, 16)`, what each sentence's random numbers
            are made from, see `Sampler`. No constraint, but what a sentence
            has of its own.
        symbols: of its source, all of which the output gets.
    """

    max_lengths: tf.Tensor
    min_lengths: tf.Tensor | tuple[()] = ()
    prefixes: tf.Tensor | tuple[()] = ()
    sampling_keys: tf.Tensor | tuple[()] = ()
    symbols: SourceSymbols | tuple[()] = ()


@dataclasses.dataclass(frozen=True)
class SearchConstraints:
    """Constraints on every sentence, and the scoring of hypotheses.

    Attributes:
        banned: ids that are never generated, beside PAD and START; a tensor
            int32 `(N,)` where they are indices of a shortlist.
        no_repeat_ngram_size: no sequence of so many tokens occurs twice;
            0: any may.
        repetition_penalty: what the log-probability of a token that was
            generated before is multiplied by; 1: nothing (Keskar et al.
            2019, section 4.1, there on logits).
        penalty: of length: from log-probabilities to scores.
        first_symbol: the id of the first symbol, or its index in a shortlist;
            all symbols are among the banned. None: there are none.
    """

    banned: tuple[int, ...] | tf.Tensor = ()
    no_repeat_ngram_size: int = 0
    repetition_penalty: float = 1.0
    penalty: LengthPenalty = LengthPenalty()
    first_symbol: int | tf.Tensor | None = None

    def apply(
        self,
        logits: tf.Tensor,
        log_z: tf.Tensor,
        ids: tf.Tensor,
        sentences: SentenceConstraints,
        step: tf.Tensor,
    ) -> tf.Tensor:
        """Logits with minus infinity where no search may go.

        Args:
            logits: float32 `(B, K, V)`.
            log_z: float32 `(B, K)`, as `log_normalizer` gives it.
            ids: int32 `(B, K, T)`, the output so far, PAD after.
            sentences: `SentenceConstraints`.
            step: int32 scalar, the position that comes next.

        Returns:
            float32 `(B, K, V)`.
        """
        size = vocabulary_size(logits)
        unconstrained = logits
        if self.repetition_penalty != 1:
            logits = self._penalise_repetition(logits, log_z, ids)
        forbidden = _forbid(size, self._never_generated())  # (V,)
        if not isinstance(sentences.min_lengths, tuple):
            forbidden = _forbid_early_end(
                forbidden, sentences.min_lengths, step
            )  # (B, 1, V)
        if sentences.symbols and self.first_symbol is not None:
            forbidden = with_structure(
                forbidden,
                sentences.symbols,
                ids,
                self.first_symbol,
                sentences.max_lengths,
                step,
            )
        logits += forbidden
        # The graph doesn't know that of what may be structured.
        logits.set_shape(unconstrained.shape)
        if self.no_repeat_ngram_size:
            logits = self._forbid_repeated_ngrams(logits, ids, step)
            logits = _allow_end_at_dead_ends(logits, unconstrained)
        if not isinstance(sentences.prefixes, tuple):
            # Last: a prefix that was asked for overrules every constraint.
            logits = _force_prefix(
                logits, unconstrained, sentences.prefixes, step
            )
        return logits

    def _never_generated(self):
        if isinstance(self.banned, tuple):
            return (*NEVER_GENERATED, *self.banned)
        return tf.concat([NEVER_GENERATED, self.banned], axis=0)

    def _penalise_repetition(self, logits, log_z, ids):
        log_z = log_z[..., tf.newaxis]  # (B, K, 1)
        penalised = log_z + self.repetition_penalty * (logits - log_z)
        return tf.where(_occurring(ids, logits), penalised, logits)

    def _forbid_repeated_ngrams(self, logits, ids, step):
        size = self.no_repeat_ngram_size
        starts = tf.range(tf.shape(ids)[2])  # (T,)
        # An n-gram that begins at `starts` and is complete.
        repeated = (starts + size <= step)[tf.newaxis, tf.newaxis]  # (1, 1, T)
        for offset in range(size - 1):
            last = tf.maximum(step - (size - 1) + offset, 0)
            # (B, K, T)
            repeated &= tf.roll(ids, -offset, axis=2) == ids[:, :, last, None]
        endings = tf.roll(ids, -(size - 1), axis=2)  # (B, K, T)
        endings = tf.where(repeated, endings, PAD_ID)
        return tf.where(_occurring(endings, logits), _FORBIDDEN, logits)


class WithoutBanned:
    """A model that gives no probability to what is never generated.

    Searches ban tokens after the softmax, so that the others have the
    probabilities that the model gives them; CTranslate2 bans before it. This
    is a model for comparing both.

    Args:
        model: a `StepModel`.
        banned: ids.
    """

    NEVER = -1e4  # added to logits

    def __init__(self, model: StepModel, banned: Iterable[int]) -> None:
        self._model = model
        self._banned = sorted(banned)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def step(self, ids: tf.Tensor, cache: object, position: tf.Tensor) -> Any:
        """See `StepModel.step`; banned tokens have a small logit."""
        step = self._model.step(ids, cache, position)
        row = np.zeros(step.logits.shape[-1], np.float32)  # (V,)
        row[self._banned] = self.NEVER
        return step._replace(logits=step.logits + row)


def vocabulary_size(logits: tf.Tensor) -> int | tf.Tensor:
    """V of `(..., V)`: an int where the graph knows it, else a tensor."""
    size = logits.shape[-1]
    return tf.shape(logits)[-1] if size is None else size


def _forbid_early_end(forbidden, min_lengths, step):
    """`forbidden` `(V,)` for each sentence `(B, 1, V)`; END before its time.

    Args:
        forbidden: float32, what is added to logits.
        min_lengths: int32 `(B,)`, tokens before END may come.
        step: int32 scalar, the position that comes next.
    """
    no_end = _forbid(vocabulary_size(forbidden), (END_ID,))  # (V,)
    rows = tf.stack([forbidden, forbidden + no_end])  # (2, V)
    # To copy rows takes a third of the time of choosing number by number.
    early = tf.cast(step < min_lengths, tf.int32)  # (B,)
    return tf.gather(rows, early)[:, tf.newaxis]  # (B, 1, V)


def _allow_end_at_dead_ends(logits, unconstrained):
    """END allowed where nothing else is, as probable as the model says."""
    # (B, K, 1)
    dead = tf.reduce_max(logits, axis=-1, keepdims=True) == _FORBIDDEN
    is_end = tf.range(vocabulary_size(logits)) == END_ID  # (V,)
    return tf.where(dead & is_end, unconstrained, logits)


def _force_prefix(logits, unconstrained, prefixes, step):
    """Leaves only a prefix's token, where there is one at this step."""
    length = tf.shape(prefixes)[1]
    # (B, P + 1)
    padded = tf.pad(prefixes, [[0, 0], [0, 1]], constant_values=PAD_ID)
    forced = padded[:, tf.minimum(step, length), tf.newaxis]  # (B, 1)
    is_forced = tf.range(vocabulary_size(logits)) == forced  # (B, V)
    is_forced = is_forced[:, tf.newaxis]  # (B, 1, V)
    only = tf.where(is_forced, unconstrained, _FORBIDDEN)  # (B, K, V)
    return tf.where(forced[..., tf.newaxis] == PAD_ID, logits, only)


def _occurring(ids, logits):
    """bool `(B, K, V)`: which tokens occur in `ids` `(B, K, T)`."""
    shape = tf.shape(logits)
    rows = tf.range(shape[0] * shape[1])[:, tf.newaxis]  # (B * K, 1)
    flat = tf.reshape(ids, [shape[0] * shape[1], -1])  # (B * K, T)
    # (B * K, T, 2)
    indices = tf.stack([rows + tf.zeros_like(flat), flat], axis=-1)
    counts = tf.scatter_nd(
        tf.reshape(indices, [-1, 2]),  # (B * K * T, 2)
        tf.ones([tf.size(flat)]),
        [shape[0] * shape[1], shape[2]],
    )  # (B * K, V)
    return tf.reshape(counts, shape) > 0  # (B, K, V)


def _forbid(size, ids):
    """float32 `(V,)`, minus infinity at the ids, 0 elsewhere."""
    if isinstance(size, int):
        row = np.zeros(size, np.float32)
        row[list(ids)] = _FORBIDDEN
        return tf.constant(row)
    indices = tf.reshape(ids, [-1, 1])  # (N, 1)
    never = tf.fill([tf.size(ids)], _FORBIDDEN)
    return tf.tensor_scatter_nd_update(tf.zeros([size]), indices, never)


def max_output_lengths(
    source_lengths: tf.Tensor, config: DecodingConfig, positions: int
) -> tf.Tensor:
    """The number of tokens that each sentence may generate, END included.

    A function of the sentence's own length only, so that its translation
    doesn't depend on its neighbours. An empty source gets 0.

    Args:
        source_lengths: int32 `(B,)`, source tokens without START and END.
        config: gives ratio, offset and maximum.
        positions: int, those that the model has.

    Returns:
        int32 `(B,)`.
    """
    most = positions - 1
    if config.max_length is not None:
        most = min(most, config.max_length)
    scaled = config.max_length_ratio * tf.cast(source_lengths, tf.float64)
    # Before an integer would overflow.
    scaled = tf.minimum(scaled, tf.cast(most, tf.float64))
    allowed = tf.cast(tf.floor(scaled), tf.int32)
    allowed += min(config.max_length_offset, most)
    allowed = tf.clip_by_value(allowed, 1, most)
    return tf.where(source_lengths > 0, allowed, 0)


def min_output_lengths(
    source_lengths: tf.Tensor, config: DecodingConfig
) -> tf.Tensor | tuple[()]:
    """The number of tokens before END is allowed; `()` without a minimum.

    Args:
        source_lengths: int32 `(B,)`, source tokens without START and END.
        config: gives the minimum.

    Returns:
        int32 `(B,)`, or `()`.
    """
    if not config.min_length:
        return ()
    return tf.fill(tf.shape(source_lengths), config.min_length)
