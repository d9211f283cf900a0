"""Lexical shortlists: a search over the tokens that a sentence can use.

The output projection is the largest product of a step. Most tokens of a
translation translate a source token, so a lexicon has some candidates for each
source token; frequent tokens, such as commas, are allowed in every sentence.
The projection is then limited to the tokens that any sentence of the batch may
use, and a sentence's probabilities are normalised over its own tokens, so that
its neighbours in the batch don't matter.

Instead of ids, searches get indices into the tokens of the batch. PAD, UNK,
START and END are the first of both, so that their indices equal their ids.

References: Jean et al. 2015, "On Using Very Large Target Vocabulary for Neural
Machine Translation", section 3.3; Junczys-Dowmunt et al. 2018, "Marian:
Cost-effective High-Quality Neural Machine Translation in C++", section 3.

Axes: B sentences, K beams, S source tokens, N candidates of a token, U tokens
of a batch, V and W vocabulary of the target and the source.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import tensorflow as tf

from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.search.constraints import SentenceConstraints
from keras_transformer.search.from_config import banned_ids, search
from keras_transformer.search.loop import SearchResult, StepModel

if TYPE_CHECKING:
    from keras_transformer.text.tokenizer import Tokenizer

# Shortlists are padded to a multiple of this, as oneDNN makes a kernel for each
# shape.
_MULTIPLE = 128
_FORBIDDEN = -float("inf")


class Lexicon(NamedTuple):
    """Candidates for the translation of each source token.

    Attributes:
        candidates: int32 `(W, N)`, target ids for each source id, PAD after.
        frequent: int32 `(F,)`, target ids that every sentence may use.
    """

    candidates: Any
    frequent: Any


class Shortlist(NamedTuple):
    """Tokens that the sentences of a batch may use.

    Attributes:
        ids: int32 `(U,)`, ascending, padded by repeating the last one; the
            special tokens come first.
        forbidden: float32 `(B, 1, U)`, minus infinity at padding and at tokens
            that only other sentences may use, 0 elsewhere.
        indices: int32 `(V,)`, the index in `ids` of each id that is there;
            undefined for others.
    """

    ids: tf.Tensor
    forbidden: tf.Tensor
    indices: tf.Tensor


class WithOutput(StepModel, Protocol):
    """A `StepModel` whose output layer can be limited to some tokens."""

    def output(self, ids: tf.Tensor) -> Any:
        """The output layer for some tokens, to pass to `step`.

        Args:
            ids: int32 `(U,)`.
        """

    def step(
        self,
        ids: tf.Tensor,
        cache: Any,
        position: tf.Tensor,
        output: Any = None,
    ) -> Any:
        """Like `StepModel.step`; with `output`, logits are `(B, K, U)`."""


class LexiconTable:
    """A lexicon as variables of a graph.

    Args:
        lexicon: `Lexicon` of arrays.
        vocabulary_size: V.
        banned: target ids that the search bans. They are in all shortlists, so
            that banning them doesn't change the probabilities of others.

    Attributes:
        variables: `Lexicon` of variables, for an export to track.
    """

    def __init__(
        self, lexicon: Lexicon, vocabulary_size: int, banned: Sequence[int] = ()
    ) -> None:
        everyones = [*range(len(SPECIAL_TOKENS)), *banned, *lexicon.frequent]
        self.variables = Lexicon(
            *(
                tf.Variable(part, trainable=False, dtype=tf.int32)
                for part in (lexicon.candidates, np.unique(everyones))
            )
        )
        self._vocabulary_size = vocabulary_size

    @classmethod
    def of(
        cls, lexicon: Lexicon | None, target: Tokenizer, config: DecodingConfig
    ) -> LexiconTable | None:
        """The table of a search, or None without a lexicon.

        Args:
            lexicon: `Lexicon` of arrays, or None.
            target: `Tokenizer` of the target.
            config: the search, which may ban tokens.
        """
        if lexicon is None:
            return None
        banned = banned_ids(config, target)
        return cls(lexicon, target.vocabulary_size, banned)

    def shortlist(
        self, source_ids: tf.Tensor, prefixes: tf.Tensor | tuple[()] = ()
    ) -> Shortlist:
        """The shortlist of a batch.

        Args:
            source_ids: int32 `(B, S)`, PAD after.
            prefixes: int32 `(B, P)`, tokens that outputs begin with, PAD after.
        """
        rows = tf.shape(source_ids)[0]
        own = tf.gather(self.variables.candidates, source_ids)  # (B, S, N)
        own = tf.reshape(own, [rows, -1])  # (B, S * N)
        if not isinstance(prefixes, tuple):
            own = tf.concat([own, prefixes], axis=1)  # (B, S * N + P)
        of_everyone = self._occurring(self.variables.frequent)  # (V,)
        present = of_everyone | self._occurring(tf.reshape(own, [-1]))  # (V,)
        ids = tf.cast(tf.where(present)[:, 0], tf.int32)  # (U',)
        indices = tf.cumsum(tf.cast(present, tf.int32)) - 1  # (V,)
        count = tf.size(ids)
        size = count + -count % _MULTIPLE
        ids = tf.pad(ids, [[0, size - count]], constant_values=ids[-1])  # (U,)
        own = _occurring_in_rows(tf.gather(indices, own), size)  # (B, U)
        may = own | tf.gather(of_everyone, ids)  # (B, U)
        may &= tf.range(size) < count
        forbidden = tf.where(may, 0.0, _FORBIDDEN)[:, tf.newaxis]  # (B, 1, U)
        return Shortlist(ids, forbidden, indices)

    def _occurring(self, ids):
        """bool `(V,)`, True at tokens that occur in ids `(L,)`."""
        ones = tf.ones_like(ids)
        shape = [self._vocabulary_size]
        return tf.scatter_nd(ids[:, tf.newaxis], ones, shape) > 0


def _occurring_in_rows(indices, size):
    """bool `(B, size)`, True at indices that occur in a row of `(B, L)`."""
    rows, length = tf.unstack(tf.shape(indices))
    row = tf.repeat(tf.range(rows), length)  # (B * L,)
    flat = row * size + tf.reshape(indices, [-1])  # (B * L,)
    counts = tf.scatter_nd(
        flat[:, tf.newaxis], tf.ones_like(flat), [rows * size]
    )
    return tf.reshape(counts > 0, [rows, size])  # (B, size)


class ShortlistedModel:
    """A `StepModel` whose ids are indices into a shortlist.

    Args:
        model: the model of the whole vocabulary.
        shortlist: `Shortlist` of the batch.
    """

    def __init__(self, model: WithOutput, shortlist: Shortlist) -> None:
        self._model = model
        self._shortlist = shortlist
        self._output = model.output(shortlist.ids)

    def start(
        self, source_ids: tf.Tensor, beam_size: int, max_steps: int | tf.Tensor
    ) -> tuple:
        """The model's cache, and the shortlist's mask of forbidden tokens."""
        cache = self._model.start(source_ids, beam_size, max_steps)
        return cache, self._shortlist.forbidden

    def step(self, ids: tf.Tensor, cache: tuple, position: tf.Tensor) -> Any:
        """Scores every token of the shortlist; see `StepModel.step`."""
        ids = tf.gather(self._shortlist.ids, ids)  # (B, K)
        own, forbidden = cache
        step = self._model.step(ids, own, position, self._output)
        return step._replace(
            logits=step.logits + forbidden,  # (B, K, U)
            cache=(step.cache, forbidden),
        )

    def reorder(self, cache: tuple, parents: tf.Tensor) -> tuple:
        """See `StepModel.reorder`."""
        return self._model.reorder(cache[0], parents), cache[1]

    def take(self, cache: tuple, indices: tf.Tensor) -> tuple:
        """See `StepModel.take`."""
        forbidden = tf.gather(cache[1], indices)  # (B', 1, U)
        return self._model.take(cache[0], indices), forbidden

    def grow(self, cache: tuple, steps: int | tf.Tensor) -> tuple:
        """See `StepModel.grow`."""
        return self._model.grow(cache[0], steps), cache[1]


def shortlisted_search(
    model: WithOutput,
    lexicon: LexiconTable,
    source_ids: tf.Tensor,
    sentences: SentenceConstraints,
    config: DecodingConfig,
    banned: Sequence[int] = (),
    num_hypotheses: int | None = None,
    kept: int | None = None,
    first_symbol: int | None = None,
) -> SearchResult:
    """Like `from_config.search`, over the tokens that each sentence can use.

    Log-probabilities are normalised over these tokens.

    Args:
        model: the model of the whole vocabulary.
        lexicon: table with the same `banned`.
        source_ids, sentences, config, banned, num_hypotheses, kept,
            first_symbol: see `search`.
    """
    prefixes = sentences.prefixes
    shortlist = lexicon.shortlist(source_ids, prefixes)
    if not isinstance(prefixes, tuple):
        prefixes = tf.gather(shortlist.indices, prefixes)  # (B, P)
        sentences = sentences._replace(prefixes=prefixes)
    local: Any = tf.gather(shortlist.indices, banned) if banned else ()
    result = search(
        ShortlistedModel(model, shortlist),
        source_ids,
        sentences,
        config,
        local,
        num_hypotheses,
        kept,
        # All symbols are in the shortlist, as they are banned.
        first_symbol and shortlist.indices[first_symbol],
    )
    ids = tf.gather(shortlist.ids, result.ids)  # (B, K, T)
    return result._replace(ids=ids)
