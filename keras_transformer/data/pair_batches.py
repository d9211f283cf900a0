"""Batches of text that was not prepared."""

import itertools
from collections.abc import Iterable, Iterator

import tensorflow as tf

from keras_transformer.data.pools import model_example
from keras_transformer.text.tokenizer import Tokenizer


def pair_batches(
    pairs: Iterable[tuple[str, str]],
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    max_length: int,
    batch_sentences: int = 64,
) -> Iterator[tuple[dict, tf.Tensor]]:
    """The pairs in order, cut into batches.

    Args:
        pairs: source and target sentences.
        source_tokenizer: of the run.
        target_tokenizer: of the run.
        max_length: positions of the model; what is longer is cut.
        batch_sentences: pairs a batch.
    """
    pairs = iter(pairs)
    while chunk := list(itertools.islice(pairs, batch_sentences)):
        sources, targets = (list(side) for side in zip(*chunk, strict=True))
        yield model_example(
            source_tokenizer.tokenize(tf.constant(sources))[
                :, : max_length - 2
            ],
            target_tokenizer.tokenize(tf.constant(targets))[
                :, : max_length - 1
            ],
        )
