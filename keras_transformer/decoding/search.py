"""The search that a `DecodingConfig` asks for."""

from keras_transformer.config import DecodingConfig
from keras_transformer.decoding.beam import beam_search
from keras_transformer.decoding.greedy import greedy_search
from keras_transformer.decoding.hypotheses import SearchResult


def search(
    start,
    step,
    source_ids,
    limits,
    config: DecodingConfig,
    num_hypotheses: int | None = None,
) -> SearchResult:
    """Greedy for a beam of 1, beam search otherwise.

    The model is known only as `start` and `step`; see `beam_search`.

    Args:
        start: `(source_ids, beam_size, max_steps) -> cache`.
        step: `(ids, cache, index) -> (logits, cache)`.
        source_ids: int32 `(B, S)`.
        limits: int32 `(B,)`, as `output_limits` gives them.
        config: beam size and length penalty.
        num_hypotheses: rows to return, at most the beam size; None: all.

    Returns:
        A `SearchResult`.
    """
    if config.beam_size == 1:
        return greedy_search(
            start, step, source_ids, limits, config.length_penalty
        )
    return beam_search(
        start,
        step,
        source_ids,
        limits,
        config.beam_size,
        config.length_penalty,
        num_hypotheses,
    )
