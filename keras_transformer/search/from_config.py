"""The search that a `DecodingConfig` asks for, and its constraints."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
from keras_transformer.search.scoring import ScorePenalties

if TYPE_CHECKING:
    import tensorflow as tf

    from keras_transformer.text.tokenizer import Tokenizer


def search(
    model: StepModel,
    source_ids: tf.Tensor,
    sentences: SentenceConstraints,
    config: DecodingConfig,
    banned: tuple[int, ...] = (),
    num_hypotheses: int | None = None,
    kept: int | None = None,
) -> SearchResult:
    """Sampling if asked for; else greedy for a beam of 1, else beam search.

    Args:
        model: the model.
        source_ids: int32 `(B, S)`.
        sentences: what is asked of each, as `sentence_constraints` gives it.
        config: the search.
        banned: ids that are never generated.
        num_hypotheses: rows to return, at most the beam size; None: all.
        kept: of a beam, rows to return in place of these, see `beam_search`.
    """
    constraints = search_constraints(config, banned)
    if config.sampling or config.beam_size == 1:
        return greedy_search(
            model,
            source_ids,
            sentences,
            constraints,
            choose=sampler(config) if config.sampling else None,
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
    config: DecodingConfig, banned: tuple[int, ...] = ()
) -> SearchConstraints:
    """The constraints of a configuration on every sentence.

    Args:
        config: the search.
        banned: ids that are never generated.
    """
    return SearchConstraints(
        banned=banned,
        no_repeat_ngram_size=config.no_repeat_ngram_size,
        repetition_penalty=config.repetition_penalty,
        penalties=ScorePenalties(
            config.length_normalization,
            config.length_penalty,
            config.coverage_penalty,
        ),
    )


def sentence_constraints(
    source_ids: tf.Tensor,
    source_lengths: tf.Tensor,
    config: DecodingConfig,
    positions: int,
    prefixes: tf.Tensor | tuple[()] = (),
) -> SentenceConstraints:
    """The constraints of a configuration on each sentence.

    Args:
        source_ids: int32 `(B, S)`.
        source_lengths: int32 `(B,)`, tokens without START and END.
        config: the search.
        positions: int, those that the model has.
        prefixes: int32 `(B, P)`, what the outputs begin with, PAD after.
    """
    return SentenceConstraints(
        max_lengths=max_output_lengths(source_lengths, config, positions),
        min_lengths=min_output_lengths(source_lengths, config),
        prefixes=prefixes,
        sampling_keys=(
            sampler(config).keys(source_ids) if config.sampling else ()
        ),
    )


def needs_alignment(config: DecodingConfig) -> bool:
    """True if a configuration needs a model that returns attention."""
    return config.coverage_penalty > 0 or config.replace_unknown


def sampler(config: DecodingConfig) -> Sampler:
    """The sampler that a configuration describes."""
    return Sampler(
        config.temperature, config.top_k, config.top_p, config.sampling_seed
    )


def banned_ids(config: DecodingConfig, tokenizer: Tokenizer) -> tuple[int, ...]:
    """The ids of the tokens that a configuration bans.

    Raises:
        InputError: a banned token isn't in the vocabulary.
    """
    if not config.banned_tokens:
        return ()
    ids = {token: i for i, token in enumerate(tokenizer.tokens())}
    ids[SPECIAL_TOKENS[UNK_ID]] = UNK_ID  # some SentencePiece models rename it
    for token in config.banned_tokens:
        if token not in ids:
            raise InputError(
                "decoding.banned_tokens: not in the target's vocabulary: "
                f"{token!r}"
            )
    return tuple(sorted({ids[token] for token in config.banned_tokens}))
