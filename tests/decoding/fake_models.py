"""Models for the searches' tests: small, exact, and easy to know by heart."""

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.constants import END_ID, PAD_ID, START_ID


class Cache(NamedTuple):
    beams: Any
    source: Any


class Step(NamedTuple):
    logits: Any
    attention: Any
    cache: Any


class FakeModel:
    """How a cache of nested tensors follows its sentences and beams."""

    max_length = 32

    def reorder(self, cache, parents):
        return cache._replace(beams=_gather(cache.beams, parents, 1))

    def take(self, cache, sentences):
        return _gather(cache, sentences, 0)

    def grow(self, cache, steps):
        return cache


class RecurrentModel(FakeModel):
    """Random logits that depend on the whole prefix and on the source.

    Its past is a hidden state, so a beam that isn't reordered together with
    its tokens gives other logits.
    """

    def __init__(self, seed, vocabulary_size=7, width=5, sharpness=3.0):
        random = np.random.default_rng(seed)

        def weights(*shape):
            return tf.constant(random.normal(size=shape), tf.float32)

        self.vocabulary_size = vocabulary_size
        self.source_embedding = weights(20, width)
        self.embedding = weights(vocabulary_size, width)
        self.recurrent = weights(width, width)
        self.output = sharpness * weights(width, vocabulary_size)

    def start(self, source_ids, beam_size, max_steps):
        real = tf.cast(source_ids != PAD_ID, tf.float32)[..., tf.newaxis]
        vectors = tf.gather(self.source_embedding, source_ids) * real
        summary = tf.tanh(tf.reduce_sum(vectors, axis=1))
        rows = tf.shape(source_ids)[0]
        width = self.embedding.shape[1]
        return Cache(
            beams={"hidden": tf.zeros([rows, beam_size, width])},
            source=[summary, source_ids],
        )

    def step(self, ids, cache, index):
        summary, source_ids = cache.source
        tf.debugging.assert_equal(tf.shape(summary)[0], tf.shape(ids)[0])
        hidden = tf.tanh(
            cache.beams["hidden"] @ self.recurrent
            + tf.gather(self.embedding, ids)
            + 0.1 * tf.cast(index, tf.float32)
        )
        logits = (hidden + summary[:, tf.newaxis]) @ self.output
        keys = tf.gather(self.source_embedding, source_ids)
        scores = tf.matmul(hidden, keys, transpose_b=True)
        scores += tf.where(source_ids == PAD_ID, -1e9, 0.0)[:, tf.newaxis]
        return Step(
            logits,
            tf.nn.softmax(scores),
            cache._replace(beams={"hidden": hidden}),
        )


class ScriptedModel(FakeModel):
    """Logits read from a table: `table[index][last token]` is a row of V."""

    def __init__(self, table):
        self.table = tf.constant(table, tf.float32)

    def start(self, source_ids, beam_size, max_steps):
        rows = tf.shape(source_ids)[0]
        return Cache(beams=(tf.zeros([rows, beam_size]),), source=())

    def step(self, ids, cache, index):
        last = tf.shape(self.table)[0] - 1
        row = self.table[tf.minimum(index, last)]
        return Step(tf.gather(row, ids), None, cache)


class Uncached(FakeModel):
    """The functions of a search over a model that knows only full passes.

    Args:
        logits: `(source_ids (N, S), target_ids (N, T)) -> (N, T, V)`.
    """

    def __init__(self, logits):
        self.logits = logits

    def start(self, source_ids, beam_size, max_steps):
        rows = tf.shape(source_ids)[0]
        ids = tf.fill([rows, beam_size, max_steps], PAD_ID)
        return Cache(beams={"ids": ids}, source=source_ids)

    def grow(self, cache, steps):
        ids = tf.pad(cache.beams["ids"], [[0, 0], [0, 0], [0, steps]])
        return cache._replace(beams={"ids": ids})

    def step(self, ids, cache, index):
        prefix = cache.beams["ids"]
        here = tf.range(tf.shape(prefix)[2]) == index
        prefix = tf.where(here, ids[..., tf.newaxis], prefix)
        rows, beam_size = tf.shape(ids)[0], ids.shape[1]
        logits = self.logits(
            tf.repeat(cache.source, beam_size, axis=0),
            tf.reshape(prefix, [rows * beam_size, -1]),
        )[:, index]
        return Step(
            tf.reshape(logits, [rows, beam_size, -1]),
            None,
            cache._replace(beams={"ids": prefix}),
        )


class Watched:
    """A model, and the steps and batch sizes that a search asked it for."""

    def __init__(self, model):
        self._model = model
        self.steps = []
        self.batches = []

    def __getattr__(self, name):
        return getattr(self._model, name)

    def step(self, ids, cache, index):
        self.steps.append(int(index))
        self.batches.append(int(ids.shape[0]))
        return self._model.step(ids, cache, index)


def _gather(nested, places, axis):
    return tf.nest.map_structure(
        lambda tensor: tf.gather(tensor, places, batch_dims=axis), nested
    )


def chain(*words, vocabulary_size=8, strength=5.0):
    """A table by which a `ScriptedModel` says the words, then END."""
    table = np.zeros([len(words) + 1, vocabulary_size, vocabulary_size])
    for index, word in enumerate((*words, END_ID)):
        table[index, :, word] = strength
    return table


def exhaustive(model, source_ids, limit, alpha):
    """Every hypothesis of one sentence, the best first.

    Returns:
        Tuples (finished, score, ids, log-probability): all that end within
        the limit, then those that reach it without END.
    """
    hypotheses = []

    def visit(prefix, value, cache):
        last = prefix[-1] if prefix else START_ID
        row, cache = log_softmax_step(model, last, cache, len(prefix))
        length = len(prefix) + 1
        for token in range(model.vocabulary_size):
            if token in (PAD_ID, START_ID):
                continue
            ids, total = (*prefix, token), value + row[token]
            if token == END_ID or length == limit:
                score = total / ((5 + length) / 6) ** alpha
                hypotheses.append((token == END_ID, score, ids, total))
            else:
                visit(ids, total, cache)

    visit((), 0.0, model.start(tf.constant([source_ids]), 1, limit))
    return sorted(hypotheses, reverse=True)


def log_softmax_step(model, last, cache, index):
    """One step of one sentence: float64 log-probabilities, and the cache."""
    step = model.step(tf.constant([[last]]), cache, index)
    row = np.asarray(step.logits, np.float64)[0, 0]
    return row - np.log(np.exp(row).sum()), step.cache


def forced(model, source_ids, ids):
    """The log-probability of `ids`, in plain NumPy arithmetic."""
    cache = model.start(tf.constant([source_ids]), 1, len(ids))
    total = 0.0
    last = START_ID
    for index, token in enumerate(ids):
        row, cache = log_softmax_step(model, last, cache, index)
        total += row[token]
        last = token
    return total


def random_sources(seed, rows=5, longest=6):
    """Padded sources of random lengths, and their lengths."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, longest + 1, rows)
    ids = random.integers(4, 20, [rows, longest])
    ids[np.arange(longest) >= lengths[:, None]] = PAD_ID
    return tf.constant(ids, tf.int32), tf.constant(lengths, tf.int32)


def traced(run):
    """`run(source_ids, limits)` as a graph that knows no sizes."""
    return tf.function(
        run,
        input_signature=[
            tf.TensorSpec([None, None], tf.int32),
            tf.TensorSpec([None], tf.int32),
        ],
    )


def words(result, sentence=0, row=0):
    """The ids of one hypothesis, its padding left out."""
    length = int(result.lengths[sentence, row])
    return result.ids[sentence, row, :length].numpy().tolist()
