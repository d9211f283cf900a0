"""Constraints on what a search may generate.

`SearchConstraints` hold for all sentences, `SentenceConstraints` for one each.
Applied to the logits of a step, they give logits again, in which minus infinity
forbids a token. The log-normalizer is computed before, so that the other tokens
keep the probabilities that the model gave them.

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
        min_lengths: int32 `(B,)`, the output tokens required before END.
        prefixes: int32 `(B, P)`, tokens that the output begins with, PAD after.
        sampling_keys: uint8 `(B, 16)`, seeds of each sentence's random numbers,
            see `Sampler`. No constraint, but here because it differs by
            sentence.
        symbols: symbols of each source, all of which the output must contain.
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
        banned: ids that are never generated, besides PAD and START; a tensor
            int32 `(N,)` if they are indices into a shortlist.
        no_repeat_ngram_size: length of token sequences that may not occur
            twice; 0: any may.
        repetition_penalty: factor of the log-probability of a token that was
            generated before; 1: no penalty (Keskar et al. 2019, section 4.1,
            there on logits).
        penalty: `LengthPenalty` of the scores.
        first_symbol: the id of the first symbol, or its index in a shortlist;
            all symbols are among the banned. None: there are no symbols.
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
        """Logits of a step with minus infinity at forbidden tokens.

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
        # `with_structure` loses the static shape.
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
        # Whether an n-gram that begins at `starts` is complete.
        repeated = (starts + size <= step)[tf.newaxis, tf.newaxis]  # (1, 1, T)
        for offset in range(size - 1):
            last = tf.maximum(step - (size - 1) + offset, 0)
            # (B, K, T)
            repeated &= tf.roll(ids, -offset, axis=2) == ids[:, :, last, None]
        endings = tf.roll(ids, -(size - 1), axis=2)  # (B, K, T)
        endings = tf.where(repeated, endings, PAD_ID)
        return tf.where(_occurring(endings, logits), _FORBIDDEN, logits)


class WithoutBanned:
    """A model that gives no probability to banned tokens.

    Searches ban tokens after the softmax, so that the others keep the
    probabilities that the model gives them; CTranslate2 bans tokens before it.
    This model is for comparing the two.

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
    """`forbidden` `(V,)` for each sentence `(B, 1, V)`, with END if too early.

    Args:
        forbidden: float32, to be added to logits.
        min_lengths: int32 `(B,)`, the output tokens required before END.
        step: int32 scalar, the position that comes next.
    """
    no_end = _forbid(vocabulary_size(forbidden), (END_ID,))  # (V,)
    rows = tf.stack([forbidden, forbidden + no_end])  # (2, V)
    # Copying rows takes a third of the time of selecting single numbers.
    early = tf.cast(step < min_lengths, tf.int32)  # (B,)
    return tf.gather(rows, early)[:, tf.newaxis]  # (B, 1, V)


def _allow_end_at_dead_ends(logits, unconstrained):
    """Allows END, with the model's logit, where all tokens are forbidden."""
    # (B, K, 1)
    dead = tf.reduce_max(logits, axis=-1, keepdims=True) == _FORBIDDEN
    is_end = tf.range(vocabulary_size(logits)) == END_ID  # (V,)
    return tf.where(dead & is_end, unconstrained, logits)


def _force_prefix(logits, unconstrained, prefixes, step):
    """Allows only the prefix's token if there is one at this step."""
    length = tf.shape(prefixes)[1]
    # (B, P + 1)
    padded = tf.pad(prefixes, [[0, 0], [0, 1]], constant_values=PAD_ID)
    forced = padded[:, tf.minimum(step, length), tf.newaxis]  # (B, 1)
    is_forced = tf.range(vocabulary_size(logits)) == forced  # (B, V)
    is_forced = is_forced[:, tf.newaxis]  # (B, 1, V)
    only = tf.where(is_forced, unconstrained, _FORBIDDEN)  # (B, K, V)
    return tf.where(forced[..., tf.newaxis] == PAD_ID, logits, only)


def _occurring(ids, logits):
    """bool `(B, K, V)`, True at tokens that occur in `ids` `(B, K, T)`."""
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
        positions: int, number of the model's positions.

    Returns:
        int32 `(B,)`.
    """
    most = positions - 1
    if config.max_length is not None:
        most = min(most, config.max_length)
    scaled = config.max_length_ratio * tf.cast(source_lengths, tf.float64)
    # As floats, since integers might overflow.
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
