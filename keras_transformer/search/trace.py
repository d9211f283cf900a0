"""Trace of a beam search: the tree of all candidates, for one sentence.

The steps are those of `beam_search`; only the loop is Python's, so that each
step can be recorded. It is for inspecting a search, not for translating.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import tensorflow as tf

from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.constants import END_ID, START_ID
from keras_transformer.errors import InputError
from keras_transformer.search.beam import BeamStep, advance, best, initial_state
from keras_transformer.search.beam_hypotheses import EMPTY
from keras_transformer.search.from_config import (
    search_constraints,
    sentence_constraints,
)
from keras_transformer.search.loop import (
    SearchResult,
    StepModel,
    output_capacity,
)

LIVE, ENDED, DROPPED = "live", "ended", "dropped"


class BoundedModel(StepModel, Protocol):
    """A `StepModel` with a known number of positions."""

    max_length: int


class Node(NamedTuple):
    """A candidate of the search, as a node of the tree.

    Attributes:
        step: int, output tokens so far, this one included; 0: the root.
        parent: int, index of the node that it continues; the root's own: 0.
        token: as the vocabulary has it.
        log_probability: float, of the hypothesis that ends here, in nats.
        score: float, the search's, where the hypothesis ended; else None.
        fate: "live" (kept in the beam), "ended" (finished with END) or
            "dropped" (among the 2 K best, but not kept).
    """

    step: int
    parent: int
    token: str
    log_probability: float
    score: float | None
    fate: str


class BeamTree(NamedTuple):
    """All candidates of a search, and its result.

    Attributes:
        nodes: list of `Node`, parents before their children, the root first.
        best: tuple of indices into `nodes`, the best hypothesis from the root.
        result: the `SearchResult`, of one sentence.
    """

    nodes: list
    best: tuple
    result: SearchResult


def trace_beam(
    model: BoundedModel,
    source_ids: tf.Tensor,
    tokens: Sequence[str],
    config: DecodingConfig,
    banned: tuple[int, ...] = (),
    first_id: int | None = None,
    first_symbols: tuple[int | None, int | None] = (None, None),
) -> BeamTree:
    """Searches as `from_config.search` does, and records the tree.

    Args:
        model: a `StepModel` with its `max_length`.
        source_ids: int32 `(1, S)`, framed by START and END.
        tokens: the target's vocabulary, a list of V strings.
        config: the search; a beam of 1 stops at its first END, like greedy.
        banned: ids that are never generated.
        first_id: the token that every translation begins with; None: there is
            no such token.
        first_symbols: ids of the first symbol in source and target, if
            translations have to contain the symbols of their sources.

    Raises:
        InputError: the configuration samples, which isn't a beam search, or
            there isn't exactly one sentence.
    """
    if config.temperature:
        raise InputError(
            "decoding.temperature: sampling has no beam to trace. Accepted: 0"
        )
    source_ids = tf.convert_to_tensor(source_ids)
    if source_ids.shape[0] != 1:
        raise InputError(
            f"a trace is of 1 sentence. Received: {source_ids.shape[0]}"
        )
    lengths = tf.constant([source_ids.shape[1] - 2])
    prefixes: Any = () if first_id is None else tf.constant([[first_id]])
    sentences = sentence_constraints(
        source_ids,
        lengths,
        config,
        model.max_length,
        prefixes,
        first_symbols[0],
    )
    constraints = search_constraints(config, banned, first_symbols[1])
    early_stopping = config.early_stopping or config.beam_size == 1
    steps = output_capacity(sentences.max_lengths)
    cache = model.start(source_ids, config.beam_size, steps)
    state = initial_state(sentences, config.beam_size, steps, cache)
    nodes = [Node(0, 0, tokens[START_ID], 0.0, None, LIVE)]
    rows = [0] * config.beam_size
    while not state.done[0]:
        step = advance(
            model, state, constraints, config.beam_size, early_stopping
        )
        rows = _remember(nodes, rows, step, tokens)
        state = step.state
    result = best(state.live, state.finished, config.beam_size)
    return BeamTree(nodes, _path(nodes, result, tokens), result)


def _remember(nodes, rows, step: BeamStep, tokens):
    """Appends a step's nodes; returns the index of each live row's node.

    Args:
        rows: for each row of the beam, the index of its node before the step.
    """
    candidates = [field.numpy()[0] for field in step.candidates]
    indices = {}
    for rank, (penalised, log_probability, parent, token) in enumerate(
        zip(*candidates, strict=True)
    ):
        if penalised == EMPTY:
            continue
        score = None
        if token == END_ID and rank < len(rows):
            score = float(step.ended.scores[0, rank])
        indices[parent, token] = len(nodes)
        nodes.append(
            Node(
                int(step.state.step),
                rows[parent],
                tokens[token],
                float(log_probability),
                score,
                DROPPED if score is None else ENDED,
            )
        )
    chosen = [field.numpy()[0] for field in step.chosen]
    following = []
    for penalised, _, parent, token in zip(*chosen, strict=True):
        index = indices.get((parent, token)) if penalised > EMPTY else None
        if index is not None:
            nodes[index] = nodes[index]._replace(fate=LIVE)
        following.append(index)
    return following


def _path(nodes, result, tokens):
    """The indices of the best hypothesis's nodes, from the root."""
    children = {
        (node.parent, node.token): index
        for index, node in enumerate(nodes)
        if index and node.fate != DROPPED
    }
    path = [0]
    length = int(result.lengths[0, 0])
    for token in np.asarray(result.ids)[0, 0, :length]:
        path.append(children[path[-1], tokens[token]])
    return tuple(path)
