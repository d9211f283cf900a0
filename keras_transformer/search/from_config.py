"""The search that a `DecodingConfig` asks for, and its constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tensorflow as tf

from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.constants import SPECIAL_TOKENS, UNK_ID
from keras_transformer.errors import InputError
from keras_transformer.search.beam import beam_search
from keras_transformer.search.constraints import (
    SearchConstraints,
    SentenceConstraints,
    max_output_lengths,
    min_output_lengths,
)
from keras_transformer.search.greedy import Sampler, greedy_search
from keras_transformer.search.loop import SearchResult, StepModel
from keras_transformer.search.scoring import LengthPenalty
from keras_transformer.search.structure import SourceSymbols
from keras_transformer.symbols import SYMBOLS

if TYPE_CHECKING:
    from keras_transformer.text.tokenizer import Tokenizer


def search(
    model: StepModel,
    source_ids: tf.Tensor,
    sentences: SentenceConstraints,
    config: DecodingConfig,
    banned: tuple[int, ...] | tf.Tensor = (),
    num_hypotheses: int | None = None,
    kept: int | None = None,
    first_symbol: int | tf.Tensor | None = None,
) -> SearchResult:
    """Samples if configured; else greedy for a beam of 1, else beam search.

    Args:
        model: the model.
        source_ids: int32 `(B, S)`.
        sentences: constraints of each sentence, from `sentence_constraints`.
        config: the search.
        banned: ids from `banned_ids`, or their indices in a shortlist.
        num_hypotheses: rows to return, at most the beam size; None: all.
        kept: in beam search, rows to return instead, see `beam_search`.
        first_symbol: see `SearchConstraints`.
    """
    constraints = search_constraints(config, banned, first_symbol)
    if config.temperature or config.beam_size == 1:
        return greedy_search(
            model,
            source_ids,
            sentences,
            constraints,
            choose=sampler(config) if config.temperature else None,
        )
    return beam_search(
        model,
        source_ids,
        sentences,
        constraints,
        config.beam_size,
        num_hypotheses,
        config.early_stopping,
        kept,
    )


def search_constraints(
    config: DecodingConfig,
    banned: tuple[int, ...] | tf.Tensor = (),
    first_symbol: int | tf.Tensor | None = None,
) -> SearchConstraints:
    """The constraints of a configuration on every sentence.

    Args:
        config: the search.
        banned, first_symbol: see `search`.
    """
    return SearchConstraints(
        banned=banned,
        no_repeat_ngram_size=config.no_repeat_ngram_size,
        repetition_penalty=config.repetition_penalty,
        penalty=LengthPenalty(
            config.length_normalization, config.length_penalty
        ),
        first_symbol=first_symbol,
    )


def sentence_constraints(
    source_ids: tf.Tensor,
    source_lengths: tf.Tensor,
    config: DecodingConfig,
    positions: int,
    prefixes: tf.Tensor | tuple[()] = (),
    first_symbol: int | None = None,
) -> SentenceConstraints:
    """The constraints of a configuration on each sentence.

    Args:
        source_ids: int32 `(B, S)`.
        source_lengths: int32 `(B,)`, tokens without START and END.
        config: the search.
        positions: int, number of the model's positions.
        prefixes: int32 `(B, P)`, tokens that outputs begin with, PAD after.
        first_symbol: the source's id of the first symbol, if translations have
            to contain the symbols of their sources; None: they don't.
    """
    max_lengths = max_output_lengths(source_lengths, config, positions)
    symbols: SourceSymbols | tuple[()] = ()
    if first_symbol is not None:
        symbols = SourceSymbols.of(source_ids, first_symbol)
        counts = symbols.counts()  # (B,)
        # The prefix, all symbols and END have to fit, whatever maximum is
        # configured.
        needed = counts + 1
        if not isinstance(prefixes, tuple):
            needed += tf.math.count_nonzero(prefixes, axis=1, dtype=tf.int32)
        needed = tf.where(counts > 0, needed, 0)
        max_lengths = tf.maximum(max_lengths, tf.minimum(needed, positions - 1))
    return SentenceConstraints(
        max_lengths=max_lengths,
        min_lengths=min_output_lengths(source_lengths, config),
        prefixes=prefixes,
        sampling_keys=(
            sampler(config).keys(source_ids) if config.temperature else ()
        ),
        symbols=symbols,
    )


def sampler(config: DecodingConfig) -> Sampler:
    """The sampler that a configuration describes."""
    return Sampler(
        config.temperature, config.top_k, config.top_p, config.sampling_seed
    )


def banned_ids(config: DecodingConfig, tokenizer: Tokenizer) -> tuple[int, ...]:
    """The ids of the tokens that a configuration bans, and of all symbols.

    Raises:
        InputError: a banned token isn't in the vocabulary.
    """
    first = tokenizer.first_symbol
    symbols = () if first is None else range(first, first + len(SYMBOLS))
    if not config.banned_tokens:
        return tuple(symbols)
    ids = {token: i for i, token in enumerate(tokenizer.tokens())}
    ids[SPECIAL_TOKENS[UNK_ID]] = UNK_ID  # some SentencePiece models rename it
    for token in config.banned_tokens:
        if token not in ids:
            raise InputError(
                "decoding.banned_tokens: not in the target's vocabulary: "
                f"{token!r}"
            )
    banned = {ids[token] for token in config.banned_tokens}
    return tuple(sorted(banned.union(symbols)))
