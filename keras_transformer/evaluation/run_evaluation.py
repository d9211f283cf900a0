"""Evaluation of a run on a test set: cross-entropy, BLEU and chrF."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import tensorflow as tf

from keras_transformer.compat import graph_function
from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.constants import PAD_ID
from keras_transformer.data.corpus import Pairs, sentence_pairs
from keras_transformer.data.model_inputs import pair_batches
from keras_transformer.errors import InputError
from keras_transformer.evaluation.scoring import (
    Configured,
    Scoring,
    Texts,
    text_columns,
)
from keras_transformer.evaluation.significance import Interval, Resampling
from keras_transformer.text.tokenizer import Tokenizer, encoded
from keras_transformer.training.run import Run
from keras_transformer.translation.details import detailed_translator
from keras_transformer.translation.ensemble import mean_log_probabilities
from keras_transformer.translation.request import Translation, blank_translation
from keras_transformer.translation.stream import translate_lines
from keras_transformer.translation.trained_run import TrainedRun
from keras_transformer.translation.translator import with_prefix


class Measured(Configured, Protocol):
    """What `evaluate_translator` measures, a `CTranslate2Translator`."""

    @property
    def decoding(self) -> DecodingConfig:
        """The search."""

    @property
    def target_tokenizer(self) -> Tokenizer:
        """The target's."""

    def results(self, texts: list[str]) -> list[Translation]:
        """The best translations, and whether texts were too long."""

    def target_ids(self, translations: Sequence[str]) -> list[list[int]]:
        """Translations as ids."""

    def token_log_probabilities(
        self, texts: Sequence[str], targets: Sequence[Sequence[int]]
    ) -> list[list[float]]:
        """Of each token of these translations."""


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """What a run reaches on a test set.

    Attributes:
        sentences: pairs measured.
        truncated: pairs of these that lost an end: the source or the reference
            has more tokens than the model takes, or the translation reached
            its limit.
        blank_pairs: pairs left out, as a side of theirs is blank.
        cross_entropy: nats per target token, the end token counted, no
            smoothing, the reference being given token by token.
        tokens: target tokens that this is a mean of.
        bleu: corpus BLEU, 0 to 100.
        bleu_interval: its 95 % interval, from and to, by bootstrap; None:
            not asked for, or of too many sentences.
        chrf: corpus chrF, 0 to 100.
        chrf_interval: likewise.
        bleu_signature: sacreBLEU's, to reproduce the numbers.
        chrf_signature: likewise.
        resampling: how the intervals were drawn.
        beam_size: of the search that translated.
        length_penalty: likewise.
        seconds: of translating.
        texts: sources, references and translations.
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

    def figures(self) -> dict:
        """All but the texts; JSON-able."""
        names = [field.name for field in dataclasses.fields(self)]
        values = {n: getattr(self, n) for n in names if n != "texts"}
        return values | {"resampling": dataclasses.asdict(self.resampling)}


def evaluate_run(
    run: TrainedRun,
    pairs: Pairs,
    *,
    scoring: Scoring | None = None,
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Measures a run, as it translates, on source and reference sentences.

    References pass through the same simplification of Chinese as the run's
    training data did, for the model can only write what it was shown. With a
    shortlist, the cross-entropy is among all tokens.

    For the arguments, see `api.evaluation.evaluate`.
    """
    pairs = sentence_pairs(pairs)
    sources, references = text_columns(run, pairs)
    models = run.load_models()
    batches = pair_batches(
        zip(sources, references, strict=True),
        with_prefix(run.source_tokenizer, run.search),
        run.target_tokenizer,
        min(
            one.config.model.max_length
            for one in (run, *map(Run.load, run.ensemble))
        ),
    )
    translator = run.new_translator(models=models)
    return _evaluation(
        cross_entropy(_together(models), batches),
        detailed_translator(translator),
        (sources, references),
        len(pairs) - len(sources),
        run,
        run.search,
        scoring or Scoring(),
        progress,
    )


def evaluate_translator(
    translator: Measured,
    pairs: Pairs,
    *,
    scoring: Scoring | None = None,
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Measures an export for CTranslate2 on source and reference sentences.

    As `evaluate_run` does, but probabilities are of the tokens that may be
    generated, and count where the model sees anything of the source.

    For the arguments, see `api.evaluation.evaluate`.
    """
    decoding = translator.decoding
    pairs = sentence_pairs(pairs)
    sources, references = text_columns(translator, pairs)
    scored = []
    for begin in range(0, len(sources), decoding.batch_size):
        part = slice(begin, begin + decoding.batch_size)
        ids = translator.target_ids(references[part])
        scored += translator.token_log_probabilities(sources[part], ids)
    model = translator.config.model
    # Where it sees nothing of a source, CTranslate2 has nothing but zeros.
    framed = model.source_start or model.source_end
    values = [v for row in scored if framed or any(row) for v in row]
    if not values:
        raise InputError("no source has a token that the model sees")
    return _evaluation(
        (-sum(values) / len(values), len(values)),
        translator.results,
        (sources, references),
        len(pairs) - len(sources),
        translator,
        decoding,
        scoring or Scoring(),
        progress,
    )


def _together(models):
    """What gives the logits of one model, or of an ensemble."""
    if len(models) == 1:
        return models[0]

    def logits(features, training):
        each = [model(features, training=training) for model in models]
        return mean_log_probabilities(each)

    return logits


def _evaluation(
    loss, translate, columns, blank, model, decoding, scoring, progress
):
    """An `Evaluation`.

    Args:
        loss: cross-entropy, and the number of tokens.
        translate: from a list of lines to as many `Translation`s.
        columns: sources and references.
        blank: pairs left out.
        model: gives the target's tokenizer, and the configuration.
        decoding: the search of `translate`.
        scoring: `Scoring`.
        progress: called with the number of sentences just translated.
    """
    sources, references = columns
    started = time.perf_counter()
    size = decoding.batch_size
    results = [
        *translate_lines(
            sources, translate, size, blank=blank_translation, progress=progress
        )
    ]
    seconds = time.perf_counter() - started
    lines = [result.hypotheses[0].text for result in results]
    ids = model.target_tokenizer.tokenize(encoded(references))  # (N, None)
    # Without START or END, whichever frames it.
    cut = (ids.row_lengths() > model.config.model.max_length - 1).numpy()
    truncated = [result.truncated for result in results] | cut
    compared = scoring.compare(
        {"": lines}, references, model.config.data.target_language
    )
    (scores,) = compared.systems
    cross_entropy, tokens = loss
    return Evaluation(
        sentences=compared.sentences,
        truncated=int(truncated.sum()),
        blank_pairs=blank,
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
    """The mean over all target tokens, END counted, PAD not, unsmoothed.

    Sums and counts are added in float64, so the result depends neither on
    the batches nor on their padding.

    Args:
        model: such as a `keras.Model`, `({"source_ids", "target_ids"},
            training=False) -> logits (B, T, V)`.
        dataset: yields `({"source_ids": int32 (B, S), "target_ids": int32
            (B, T)}, labels int32 (B, T))`.

    Returns:
        Nats a target token, and the number of target tokens.

    Raises:
        InputError: the dataset holds no target token.
    """
    ids = tf.TensorSpec([None, None], tf.int32)

    def of_batch(features, labels):
        return batch_cross_entropy(model(features, training=False), labels)

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


def batch_cross_entropy(
    logits: tf.Tensor, labels: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """The sum over a batch, and how many tokens it is of.

    Args:
        logits: `(B, T, V)`.
        labels: int32 `(B, T)`, END included, PAD after.

    Returns:
        float64 scalar, in nats, and int64 scalar.
    """
    real = labels != PAD_ID
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(
        labels, tf.cast(logits, tf.float32)
    )
    losses = tf.where(real, tf.cast(losses, tf.float64), 0.0)
    return tf.reduce_sum(losses), tf.math.count_nonzero(real)
