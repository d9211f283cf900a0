"""Subword sampling of batches: other pieces for a pair in each epoch."""

import itertools

import numpy as np
import tensorflow as tf

from keras_transformer.config import Config
from keras_transformer.data.model_inputs import FRAME_LENGTHS
from keras_transformer.text.sentencepiece import SentencePieceTokenizer
from keras_transformer.text.tokenizer import Tokenizer


class SubwordSampling:
    """Replaces the plain ids of a batch by others that spell the same text.

    Sides that don't have SentencePiece models stay as they are.

    Args:
        tokenizers: of the source and of the target.
        alpha: see `SubwordSampler`.
        max_lengths: ids that a source and a target may have; where more are
            drawn, the pair keeps its own.
        seed: decides what is drawn, together with what a call is given.
    """

    def __init__(
        self,
        tokenizers: tuple[Tokenizer, Tokenizer],
        alpha: float,
        max_lengths: tuple[int, int],
        seed: int,
    ) -> None:
        self._samplers = [
            tokenizer.sampler(alpha)
            if isinstance(tokenizer, SentencePieceTokenizer)
            else None
            for tokenizer in tokenizers
        ]
        self._max_lengths = max_lengths
        self._seed = seed

    def __call__(
        self,
        sources: tf.RaggedTensor,
        targets: tf.RaggedTensor,
        *key: tf.Tensor,
    ) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Draws, in graph code.

        Args:
            sources, targets: plain ids, each ragged int32 `(B, None)`.
            key: int64 scalars of this batch alone, so that it gets the same
                pieces whenever it is made.

        Returns:
            The two sides, as they came.
        """
        tensors = []
        for side in (sources, targets):
            tensors += [side.flat_values, side.row_lengths()]
        drawn = tf.numpy_function(
            self._draw, [*tensors, *key], [tf.int32, tf.int64] * 2
        )
        for tensor in drawn:
            tensor.set_shape([None])
        return tuple(
            tf.RaggedTensor.from_row_lengths(*drawn[i : i + 2], validate=False)
            for i in (0, 2)
        )

    def _draw(self, sources, source_lengths, targets, target_lengths, *key):
        random = np.random.default_rng([self._seed, *key])
        seeds = random.integers(2**31, size=2).tolist()
        sides = (sources, source_lengths), (targets, target_lengths)
        return [
            array
            for i, side in enumerate(sides)
            for array in self._draw_side(i, *side, seeds[i])
        ]

    def _draw_side(self, i, values, lengths, seed):
        if self._samplers[i] is None:
            return values, lengths
        values = iter(values.tolist())
        rows = [[*itertools.islice(values, n)] for n in lengths.tolist()]
        rows = self._samplers[i](rows, seed, self._max_lengths[i])
        lengths = np.array([len(row) for row in rows], np.int64)
        flat = itertools.chain.from_iterable(rows)
        return np.fromiter(flat, np.int32, lengths.sum()), lengths


def subword_sampling(
    config: Config, tokenizers: tuple[Tokenizer, Tokenizer]
) -> SubwordSampling | None:
    """The sampling of a configuration, or None."""
    if not config.training.subword_sampling:
        return None
    longest = config.model.max_length - FRAME_LENGTHS
    return SubwordSampling(
        tokenizers,
        config.training.subword_sampling,
        tuple(longest.tolist()),
        config.training.seed,
    )
