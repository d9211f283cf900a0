"""The search that a `DecodingConfig` asks for, and what it asks of a model."""

from typing import Any, Protocol

from keras_transformer.config import DecodingConfig
from keras_transformer.constants import UNK_ID
from keras_transformer.errors import InputError
from keras_transformer.search.beam import beam_search
from keras_transformer.search.constraints import Constraints, Sentences
from keras_transformer.search.greedy import greedy_search
from keras_transformer.search.hypotheses import (
    Normalization,
    SearchResult,
    output_limits,
    output_minimums,
)
from keras_transformer.search.sampling import Sampler


class StepModel(Protocol):
    """All that a search knows of a model.

    A cache is any structure of tensors. `IncrementalTransformer` is one such
    model.
    """

    def start(self, source_ids, beam_size: int, max_steps) -> Any:
        """The cache before the first step, with room for `max_steps`.

        Args:
            source_ids: int32 `(B, S)`, padded with 0.
        """

    def step(self, ids, cache, index) -> Any:
        """One position: `logits` float32 `(B, K, V)`, `attention` float32
        `(B, K, S)` or None, and the `cache` for the next one.

        Args:
            ids: int32 `(B, K)`, the tokens at position `index`.
        """

    def reorder(self, cache, parents) -> Any:
        """The cache in which beam `k` goes on from beam `parents[:, k]`."""

    def take(self, cache, sentences) -> Any:
        """The cache of the sentences at places `sentences` `(B',)`."""

    def grow(self, cache, steps) -> Any:
        """The cache with room for `steps` more."""


def search(
    model: StepModel,
    source_ids,
    sentences: Sentences,
    config: DecodingConfig,
    banned: tuple[int, ...] = (),
    num_hypotheses: int | None = None,
    compiled_steps: int | None = None,
) -> SearchResult:
    """Sampling if asked for; else greedy for a beam of 1, else beam search.

    Args:
        model: the model.
        source_ids: int32 `(B, S)`.
        sentences: what is asked of each, as `demands` gives it.
        config: the search.
        banned: ids that are never generated.
        num_hypotheses: rows to return, at most the beam size; None: all.
        compiled_steps: for XLA, the steps to make room for; None: not
            for XLA.
    """
    constraints = rules(config, banned)
    if config.sampling or config.beam_size == 1:
        return greedy_search(
            model,
            source_ids,
            sentences,
            constraints,
            choose=sampler(config) if config.sampling else None,
            compiled_steps=compiled_steps,
        )
    return beam_search(
        model,
        source_ids,
        sentences,
        constraints,
        config.beam_size,
        num_hypotheses,
        config.early_stopping,
        compiled_steps,
    )


def rules(config: DecodingConfig, banned: tuple[int, ...] = ()) -> Constraints:
    """What a configuration asks of every sentence.

    Args:
        config: the search.
        banned: ids that are never generated.
    """
    return Constraints(
        banned=banned,
        no_repeat_ngram_size=config.no_repeat_ngram_size,
        repetition_penalty=config.repetition_penalty,
        normalization=Normalization(
            config.length_normalization,
            config.length_penalty,
            config.coverage_penalty,
        ),
    )


def demands(
    source_ids, source_lengths, config: DecodingConfig, max_length, prefixes=()
) -> Sentences:
    """What a configuration asks of each sentence.

    Args:
        source_ids: int32 `(B, S)`.
        source_lengths: int32 `(B,)`, tokens without START and END.
        config: the search.
        max_length: int, the positions that the model has.
        prefixes: int32 `(B, P)`, what the outputs begin with, PAD after.
    """
    return Sentences(
        limits=output_limits(source_lengths, config, max_length),
        minimums=output_minimums(source_lengths, config),
        prefixes=prefixes,
        randomness=(
            sampler(config).randomness(source_ids) if config.sampling else ()
        ),
    )


def needs_alignment(config: DecodingConfig) -> bool:
    """Whether a configuration needs a model that returns attention."""
    return config.coverage_penalty > 0 or config.replace_unknown


def sampler(config: DecodingConfig) -> Sampler:
    """The sampler that a configuration describes."""
    return Sampler(
        config.temperature, config.top_k, config.top_p, config.sampling_seed
    )


def banned_ids(config: DecodingConfig, tokenizer) -> tuple[int, ...]:
    """The ids of the tokens that a configuration bans.

    Raises:
        InputError: a banned token isn't in the vocabulary.
    """
    ids = [UNK_ID] if config.ban_unknown else []
    if config.banned_tokens:
        places = {token: i for i, token in enumerate(tokenizer.tokens())}
        for token in config.banned_tokens:
            if token not in places:
                raise InputError(
                    "decoding.banned_tokens: not in the target's vocabulary: "
                    f"{token!r}"
                )
            ids.append(places[token])
    return tuple(sorted(set(ids)))
