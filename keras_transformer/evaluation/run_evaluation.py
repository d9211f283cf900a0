"""Evaluation of a model on a test set: cross-entropy, BLEU and chrF."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import keras
import tensorflow as tf

from keras_transformer.compat import graph_function
from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.constants import PAD_ID
from keras_transformer.errors import InputError
from keras_transformer.evaluation.scoring import Scoring, Texts
from keras_transformer.evaluation.significance import (
    Comparison,
    Interval,
    Resampling,
)
from keras_transformer.text.tokenizer import encoded
from keras_transformer.translation.ensemble import mean_log_probabilities
from keras_transformer.translation.request import Translation, blank_translation
from keras_transformer.translation.stream import one_by_one, stream_lines


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Scores of a model on a test set, and its translations.

    Attributes:
        sentences: pairs measured.
        truncated: pairs of these whose source or reference has more tokens
            than the model takes, or whose translation reached its limit.
        blank_pairs: pairs left out because a side is blank.
        cross_entropy: nats per target token of the reference, given the
            tokens before it; the end token counted, no smoothing.
        tokens: number of target tokens in this mean.
        bleu: corpus BLEU, 0 to 100.
        bleu_interval: its 95 % interval, from and to, by bootstrap; None:
            not requested, or too many sentences.
        chrf: corpus chrF, 0 to 100.
        chrf_interval: the same of chrF.
        bleu_signature: how BLEU was computed, of `comparable` texts.
        chrf_signature: the same for chrF.
        resampling: settings of the intervals.
        beam_size: of the search.
        length_penalty: of the search.
        seconds: of translating.
        texts: sources, references and translations.
        documents: scores of documents, see `compare_documents`; None: not
            requested.
    """

    sentences: int
    truncated: int
    blank_pairs: int
    cross_entropy: float
    tokens: int
    bleu: float
    bleu_interval: Interval | None
    chrf: float
    chrf_interval: Interval | None
    bleu_signature: str
    chrf_signature: str
    resampling: Resampling
    beam_size: int
    length_penalty: float
    seconds: float
    texts: Texts = dataclasses.field(repr=False, compare=False)
    documents: Comparison | None = None

    def figures(self) -> dict:
        """All but the texts; JSON-able. `documents` only if requested."""
        names = [field.name for field in dataclasses.fields(self)]
        values = {n: getattr(self, n) for n in names if n != "texts"}
        values["resampling"] = dataclasses.asdict(self.resampling)
        if documents := values.pop("documents"):
            values["documents"] = dataclasses.asdict(documents)
        return values


def ensemble_logits(models: Sequence[keras.Model]) -> Callable[..., Any]:
    """A function that returns the logits of one model or an ensemble."""
    if len(models) == 1:
        return models[0]

    def logits(features, training):
        each = [model(features, training=training) for model in models]
        return mean_log_probabilities(each)

    return logits


def evaluation_of(
    loss: tuple[float, int],
    translate: Callable[[list[str]], list[Translation]],
    columns: tuple[list[str], list[str]],
    read: list[str],
    model: Any,
    max_length: int,
    decoding: DecodingConfig,
    scoring: Scoring | None,
    progress: Callable[[int], None] | None,
) -> Evaluation:
    """Translates the sources of a test set, and scores the translations.

    Args:
        loss: cross-entropy, and the number of tokens.
        translate: function from a list of lines to their results.
        columns: sources and references, of which none is blank.
        read: the references as the model reads them, with symbols if it has
            any.
        model: has the target tokenizer and the data's configuration.
        max_length: of the model, or the smallest of an ensemble.
        decoding: the search of `translate`.
        scoring: the settings; None: the language's tokenizer, with intervals.
        progress: called with the number of sentences just translated.

    Returns:
        The `Evaluation`, with no blank pairs.
    """
    sources, references = columns
    started = time.perf_counter()
    size = decoding.batch_size
    results = [
        *stream_lines(
            sources,
            one_by_one(translate),
            size,
            blank=blank_translation,
            progress=progress,
        )
    ]
    seconds = time.perf_counter() - started
    lines = [result.hypotheses[0].text for result in results]
    ids = model.target_tokenizer.tokenize(encoded(read))  # (N, None)
    # One position is for START in the model's input, or END in its output.
    cut = (ids.row_lengths() > max_length - 1).numpy()
    truncated = [result.truncated for result in results] | cut
    compared = (scoring or Scoring()).compare(
        {"": lines}, references, model.config.data.target_language
    )
    (scores,) = compared.systems
    cross_entropy, tokens = loss
    return Evaluation(
        sentences=compared.sentences,
        truncated=int(truncated.sum()),
        blank_pairs=0,
        cross_entropy=cross_entropy,
        tokens=tokens,
        bleu=scores.bleu,
        bleu_interval=scores.bleu_interval,
        chrf=scores.chrf,
        chrf_interval=scores.chrf_interval,
        bleu_signature=compared.bleu_signature,
        chrf_signature=compared.chrf_signature,
        resampling=compared.resampling,
        beam_size=decoding.beam_size,
        length_penalty=decoding.length_penalty,
        seconds=round(seconds, 2),
        texts=Texts(sources, references, lines),
    )


def cross_entropy(
    model: Callable[..., Any], dataset: Iterable
) -> tuple[float, int]:
    """The mean over all target tokens with END, without PAD, unsmoothed.

    Losses are added in float64, so the result depends neither on the batches
    nor on their padding.

    Args:
        model: such as a `keras.Model`, `({"source_ids", "target_ids"},
            training=False) -> logits (B, T, V)`.
        dataset: yields `({"source_ids": int32 (B, S), "target_ids": int32
            (B, T)}, labels int32 (B, T))`.

    Returns:
        Nats per target token, and the number of target tokens.

    Raises:
        InputError: the dataset has no target token.
    """
    ids = tf.TensorSpec([None, None], tf.int32)

    def of_batch(features, labels):
        logits = model(features, training=False)  # (B, T, V)
        real = labels != PAD_ID
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels, tf.cast(logits, tf.float32)
        )
        losses = tf.where(real, tf.cast(losses, tf.float64), 0.0)
        return tf.reduce_sum(losses), tf.math.count_nonzero(real)

    signature = [{"source_ids": ids, "target_ids": ids}, ids]
    of_batch = graph_function(of_batch, signature)
    total, count = 0.0, 0
    for features, labels in dataset:
        batch_total, batch_count = of_batch(features, labels)
        total += float(batch_total)
        count += int(batch_count)
    if not count:
        raise InputError("nothing to evaluate. Received: 0 target tokens")
    return total / count, count
