"""Model inputs: pairs of plain ids, framed, shifted and padded.

A batch is `({"source_ids", "target_ids"}, labels)`, int32, padded with PAD on
the right: `source_ids` `(B, S)` is START, source, END; `target_ids` `(B, T)` is
START, target; `labels` `(B, T)` is target, END.
"""

import itertools
from collections.abc import Iterable, Iterator

import numpy as np
import tensorflow as tf

from keras_transformer.constants import PAD_ID
from keras_transformer.data.batch_plan import BatchSize, plan_pool
from keras_transformer.data.corpus import Pair
from keras_transformer.text.tokenizer import Tokenizer, encoded, frame

# Ids that framing adds: START and END to a source, one of them to a target.
FRAME_LENGTHS = np.array([2, 1], np.int32)
# Of a batch of text, on either side: about 64 sentences.
_POSITIONS = 2048
_POOL = 1024  # pairs of text that are sorted together


def model_inputs(
    sources: tf.RaggedTensor, targets: tf.RaggedTensor
) -> tuple[dict, tf.Tensor]:
    """Creates a batch from pairs of plain ids.

    This is the only place where the target is shifted.

    Args:
        sources, targets: ragged int32 `(B, None)`.

    Returns:
        `({"source_ids", "target_ids"}, labels)`, see the module.
    """
    targets = frame(targets)  # (B, None)
    features = {
        "source_ids": frame(sources).to_tensor(PAD_ID),  # (B, S)
        "target_ids": targets[:, :-1].to_tensor(PAD_ID),  # (B, T)
    }
    return features, targets[:, 1:].to_tensor(PAD_ID)  # (B, T)


def pad_to_few_shapes(
    features: dict, labels: tf.Tensor, size: BatchSize
) -> tuple[dict, tf.Tensor]:
    """Pads the lengths and the number of pairs to a shape of `size`.

    New positions are PAD, which is ignored.
    """
    if not size.has_few_shapes and size.replicas == 1:
        return features, labels
    pairs, source = tf.unstack(tf.shape(features["source_ids"]))
    target = tf.shape(features["target_ids"])[1]
    shape = tf.numpy_function(
        size.padded_shape, [pairs, source, target], tf.int64, stateful=False
    )
    rows, source, target = tf.unstack(tf.cast(shape, tf.int32), 3)

    def padded(ids, length):  # (pairs, length before) to (rows, length)
        more = [rows - pairs, length - tf.shape(ids)[1]]
        return tf.pad(ids, [[0, more[0]], [0, more[1]]], constant_values=PAD_ID)

    return {
        "source_ids": padded(features["source_ids"], source),
        "target_ids": padded(features["target_ids"], target),
    }, padded(labels, target)


def pair_batches(
    pairs: Iterable[Pair],
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    max_length: int,
    batch_sentences: int | None = None,
) -> Iterator[tuple[dict, tf.Tensor]]:
    """Yields batches of unprepared text: every pair, grouped by length.

    Args:
        pairs: source and target sentences.
        source_tokenizer: of the run.
        target_tokenizer: of the run.
        max_length: positions of the model; longer texts are cut.
        batch_sentences: pairs per batch; None: limited by `_POSITIONS`, as the
            logits of 64 paragraphs would take gigabytes.
    """
    size = BatchSize(_POSITIONS, batch_sentences)
    pairs = iter(pairs)
    while pool := list(itertools.islice(pairs, _POOL)):
        sources, targets = map(encoded, zip(*pool, strict=True))
        # (P, None) each
        source_ids = source_tokenizer.tokenize(sources)[:, : max_length - 2]
        target_ids = target_tokenizer.tokenize(targets)[:, : max_length - 1]
        sides = source_ids.row_lengths(), target_ids.row_lengths()
        lengths = np.stack(sides, axis=1) + FRAME_LENGTHS  # (P, 2)
        for batch in plan_pool(lengths, size):
            yield model_inputs(
                tf.gather(source_ids, batch), tf.gather(target_ids, batch)
            )
