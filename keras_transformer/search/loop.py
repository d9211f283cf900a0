"""Search loop, and the interfaces that all searches share.

A search's state is a `NamedTuple` with a scalar `step`, the model's `cache`,
`sentences` that no step changes, and other tensors. The first axis of all
tensors but `step` is that of the sentences.

Axes in this package: B sentences, K beams, C candidates, T output tokens,
S source tokens, V target vocabulary.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

import tensorflow as tf

State = TypeVar("State", bound=Any)


# Steps between compactions; a smaller number copies caches more often, a larger
# one attends to more empty slots.
SEGMENT = 8
# Sentences that are done leave a batch when at most this fraction is active, as
# the caches of the active ones have to be copied.
_COMPACTION_FRACTION = 0.75


class StepModel(Protocol):
    """The interface of a model to a search.

    A cache is any structure of tensors. `IncrementalTransformer` is one
    implementation.
    """

    def start(
        self, source_ids: tf.Tensor, beam_size: int, max_steps: int | tf.Tensor
    ) -> Any:
        """The cache before the first step, with capacity for `max_steps`.

        Args:
            source_ids: int32 `(B, S)`, padded with 0.
        """

    def step(self, ids: tf.Tensor, cache: Any, position: tf.Tensor) -> Any:
        """Computes one position: `logits`, and the `cache` for the next one.

        Args:
            ids: int32 `(B, K)`, the tokens at that position.

        Returns:
            an object with `logits`, float32 `(B, K, V)`, and `cache`.
        """

    def reorder(self, cache: Any, parents: tf.Tensor) -> Any:
        """The cache in which beam `k` continues beam `parents[:, k]`."""

    def take(self, cache: Any, indices: tf.Tensor) -> Any:
        """The cache of the sentences with the indices `(B',)`."""

    def grow(self, cache: Any, steps: int | tf.Tensor) -> Any:
        """The cache with capacity for `steps` more."""


class SearchResult(NamedTuple):
    """Translations as ids, the best first.

    Finished hypotheses come before unfinished ones, each group by falling
    score. If a sentence has fewer hypotheses than requested, the remaining
    rows have length 0 and score minus infinity.

    Attributes:
        ids: int32 `(B, K, T)`, without START, END included where it was
            generated, PAD after.
        lengths: int32 `(B, K)`, tokens in `ids`, END included.
        scores: float32 `(B, K)`, by which the hypotheses were ranked: see
            `LengthPenalty`. Scores of beam search include the repetition
            penalty, those of greedy search and sampling only that of length.
        log_probabilities: float32 `(B, K)`, of the whole hypothesis, as the
            model gives it.
        finished: bool `(B, K)`, whether it ends with END. False: it reached
            its limit first.
    """

    ids: tf.Tensor
    lengths: tf.Tensor
    scores: tf.Tensor
    log_probabilities: tf.Tensor
    finished: tf.Tensor


def run_loop(
    model: StepModel,
    state: State,
    advance: Callable[[State], State],
    is_active: Callable[[State], tf.Tensor],
) -> State:
    """Advances a state until none of its sentences is active.

    Steps are done in segments. Before each of them the cache grows, after it
    sentences that are done leave the batch.

    Args:
        model: a `StepModel`.
        state: before the first step; its cache has no capacity.
        advance: maps a state to the next one.
        is_active: maps a state to bool `(B,)`.

    Returns:
        the last state of each sentence; the cache is that of the loop's end.
    """
    rows = tf.range(tf.shape(is_active(state))[0])  # (B,)

    def segment(rows, results, state):
        state = state._replace(cache=model.grow(state.cache, SEGMENT))
        state = _steps(state, advance, is_active, state.step + SEGMENT)
        results = _scatter(results, rows, state)
        active = tf.where(is_active(state))[:, 0]  # (B',)
        active = tf.cast(active, tf.int32)
        threshold = _COMPACTION_FRACTION * tf.cast(tf.size(rows), tf.float32)
        rows, state = tf.cond(
            tf.cast(tf.size(active), tf.float32) <= threshold,
            lambda: (tf.gather(rows, active), _take(model, state, active)),
            lambda: (rows, state),
        )
        return rows, results, state

    start = (rows, _per_sentence(state), state)
    _, results, end = tf.while_loop(
        lambda rows, results, state: tf.reduce_any(is_active(state)),
        segment,
        start,
        shape_invariants=tf.nest.map_structure(_free_shape, start),
        parallel_iterations=1,
    )
    return results._replace(
        cache=end.cache, step=end.step, sentences=state.sentences
    )


def _steps(state, advance, is_active, end):
    """Advances to step `end` or until nothing is active."""
    (state,) = tf.while_loop(
        lambda state: (state.step < end) & tf.reduce_any(is_active(state)),
        lambda state: (same_shapes(advance(state), state),),
        (state,),
        parallel_iterations=1,
    )
    return state


def _per_sentence(state):
    """The state's tensors with a row per sentence, which steps change.

    Without cache, step and constraints.
    """
    return state._replace(cache=(), step=(), sentences=())


def _scatter(results, rows, state):
    """`results` with the sentences at `rows` as they are in `state`."""
    return tf.nest.map_structure(
        lambda old, new: tf.tensor_scatter_nd_update(
            old, rows[:, tf.newaxis], new
        ),
        results,
        _per_sentence(state),
    )


def _take(model, state, indices):
    """The state of some of the sentences."""
    taken = tf.nest.map_structure(
        lambda tensor: tf.gather(tensor, indices),
        state._replace(cache=(), step=()),
    )
    return taken._replace(
        cache=model.take(state.cache, indices), step=state.step
    )


def _free_shape(tensor):
    """A static shape that stays valid when sentences leave and caches grow."""
    if tensor.shape.rank == 0:
        return tensor.shape
    # Of the other axes only sizes that aren't static can change.
    return tf.TensorShape(
        [None if axis == 0 else size for axis, size in enumerate(tensor.shape)]
    )


def output_capacity(max_lengths: tf.Tensor) -> tf.Tensor:
    """The number of output positions that the longest sentence needs.

    At least 1, so that no tensor is without positions.
    """
    return tf.maximum(tf.reduce_max(max_lengths), 1)


def any_shape(tensor: tf.Tensor) -> tf.Tensor:
    """Returns the tensor with a static shape of unknown sizes.

    Sentences leave the loop and caches grow, but `tf.while_loop` refuses
    changes of static sizes.
    """
    known = any(size is not None for size in tensor.shape)
    if tf.executing_eagerly() or not known:
        return tensor
    shape = [None] * tensor.shape.rank
    return tf.raw_ops.PlaceholderWithDefault(input=tensor, shape=shape)


def no_capacity(source_ids: tf.Tensor) -> tf.Tensor:
    """The first capacity of a cache that will grow: a tensor of 0.

    Computed from the result of `any_shape`, so that `tf.while_loop` doesn't
    infer a static length.
    """
    return tf.minimum(tf.shape(source_ids)[0], 0)


def write_tokens(
    ids: tf.Tensor, tokens: tf.Tensor, step: tf.Tensor
) -> tf.Tensor:
    """`ids` `(..., T)` with `tokens` `(...)` at position `step`."""
    here = tf.range(tf.shape(ids)[-1]) == step  # (T,)
    return tf.where(here, tokens[..., tf.newaxis], ids)


def same_shapes(new: State, old: State) -> State:
    """Gives the tensors of `new` the static shapes of those of `old`.

    `tf.while_loop` refuses tensors whose static shape changes. A cache keeps
    its shape in a step, but not every op can infer that.
    """

    def merge_shape(after, before):
        after.set_shape(before.shape)
        return after

    return tf.nest.map_structure(merge_shape, new, old)
