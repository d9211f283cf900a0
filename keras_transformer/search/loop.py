"""The loop that every search runs in.

A search's state is a `NamedTuple` with a scalar `step`, the model's `cache`,
`sentences` that no step changes, and other tensors whose first axis, like
theirs, is the sentences.
"""

import tensorflow as tf

# Steps between two looks at which sentences are done, and the room that
# caches grow by: less would copy them often, more would attend to much
# that is empty.
SEGMENT = 8
# Sentences are dropped from a batch when at most this share is left. To
# drop them copies the caches of those that stay.
_WORTH_DROPPING = 0.75


def run_loop(model, state, advance, is_active, compiled: bool):
    """Advances a state until none of its sentences is active.

    Outside XLA the caches grow and the sentences that are done leave, a
    segment of steps at a time. XLA needs constant shapes; there, the caches
    have room for all steps from the start.

    Args:
        model: has `take(cache, sentences)` and `grow(cache, steps)`.
        state: before the first step; outside XLA its cache has no room.
        advance: from a state to the next one.
        is_active: from a state to bool `(B,)`.
        compiled: whether this is for XLA.

    Returns:
        the last state of each sentence; the cache is that of the loop's end.
    """
    if compiled:
        return _steps(state, advance, is_active, state.step.dtype.max)
    rows = tf.range(tf.shape(is_active(state))[0])

    def segment(rows, settled, state):
        state = state._replace(cache=model.grow(state.cache, SEGMENT))
        state = _steps(state, advance, is_active, state.step + SEGMENT)
        settled = _scatter(settled, rows, state)
        left = tf.cast(tf.where(is_active(state))[:, 0], tf.int32)
        share = _WORTH_DROPPING * tf.cast(tf.size(rows), tf.float32)
        rows, state = tf.cond(
            tf.cast(tf.size(left), tf.float32) <= share,
            lambda: (tf.gather(rows, left), _take(model, state, left)),
            lambda: (rows, state),
        )
        return rows, settled, state

    start = (rows, _changing(state), state)
    _, settled, last = tf.while_loop(
        lambda rows, settled, state: tf.reduce_any(is_active(state)),
        segment,
        start,
        shape_invariants=tf.nest.map_structure(_free_shape, start),
        parallel_iterations=1,
    )
    return settled._replace(
        cache=last.cache, step=last.step, sentences=state.sentences
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


def _without_cache(state):
    return state._replace(cache=(), step=())


def _changing(state):
    return _without_cache(state)._replace(sentences=())


def _scatter(settled, rows, state):
    """`settled` with the sentences at `rows` as they are in `state`."""
    return tf.nest.map_structure(
        lambda old, new: tf.tensor_scatter_nd_update(
            old, rows[:, tf.newaxis], new
        ),
        settled,
        _changing(state),
    )


def _take(model, state, sentences):
    """The state of some of the sentences."""
    taken = tf.nest.map_structure(
        lambda tensor: tf.gather(tensor, sentences), _without_cache(state)
    )
    return taken._replace(
        cache=model.take(state.cache, sentences), step=state.step
    )


def _free_shape(tensor):
    """What stays of a shape when sentences leave and caches grow."""
    if tensor.shape.rank == 0:
        return tensor.shape
    # The cache's own axes keep what is static of them; only sizes that the
    # graph doesn't know can change.
    return tf.TensorShape(
        [None if axis == 0 else size for axis, size in enumerate(tensor.shape)]
    )


def room(limits):
    """The number of output positions that the longest sentence needs.

    At least 1, so that no tensor is without positions.
    """
    return tf.maximum(tf.reduce_max(limits), 1)


def first_room(max_steps):
    """The room of a cache that grows: none, which the graph mustn't know.

    A loop takes what it knows of a shape for what will always be so.
    """
    return tf.minimum(max_steps, 0)


def write_tokens(ids, tokens, step):
    """`ids` `(..., T)` with `tokens` `(...)` at position `step`."""
    here = tf.range(tf.shape(ids)[-1]) == step
    return tf.where(here, tokens[..., tf.newaxis], ids)


def same_shapes(new, old):
    """`new` with what is statically known of the shapes of `old`.

    A loop refuses a tensor whose static shape it saw change, and a cache
    keeps its shape although not every op can tell.
    """

    def merge_shape(after, before):
        after.set_shape(before.shape)
        return after

    return tf.nest.map_structure(merge_shape, new, old)
