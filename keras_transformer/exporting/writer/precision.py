"""The precision of an export, chosen by measuring speed and BLEU."""

from __future__ import annotations

import dataclasses
import functools
import statistics
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.data.model_inputs import pair_batches
from keras_transformer.errors import InputError
from keras_transformer.evaluation.bleu_chrf import scores
from keras_transformer.evaluation.scoring import text_columns
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.inference.quantization import (
    map_projections,
    require_int8,
)
from keras_transformer.training.run import Run
from keras_transformer.translation.details import detailed_translator
from keras_transformer.translation.lexicon import Lexicon
from keras_transformer.translation.request import blank_translation
from keras_transformer.translation.stream import one_by_one, stream_lines
from keras_transformer.translation.translator import Translator, with_prefix

if TYPE_CHECKING:
    import keras


# BLEU that a faster export may lose.
MAX_LOSS = 0.2
# How much faster than float32 it has to be.
MIN_GAIN = 1.05
# Pairs that are looked at for the largest inputs of products.
_CALIBRATED = 256
_ROUNDS = 3
# Of the largest. Cutting a little off costs less than coarser steps for all:
# the log-probabilities of the `tatoeba` preset's model change by 0.013 on the
# mean, not by 0.015; at 0.7 by 0.019.
_KEPT = 0.9


@dataclasses.dataclass(frozen=True)
class Measurement:
    """Quality and speed of a precision on a test set.

    Attributes:
        bleu: 0 to 100.
        seconds: of translating it, the median of three rounds.
        speed: that of float32, divided by this one's seconds.
    """

    bleu: float
    seconds: float
    speed: float


@dataclasses.dataclass(frozen=True)
class PrecisionChoice:
    """Choice of a precision, and its measurements.

    Attributes:
        precision: the one to export in.
        reason: one line.
        measured: by precision.
        limits: of int8, for `export_run`; None with another precision.
    """

    precision: str
    reason: str
    measured: dict[str, Measurement]
    limits: dict[str, float] | None

    def to_dict(self) -> dict:
        """The same as JSON holds it, without limits."""
        content = dataclasses.asdict(self)
        del content["limits"]
        return content


def activation_limits(
    run: Run,
    model: keras.Model,
    pairs: Iterable[tuple[str, str]],
    decoding: DecodingConfig,
) -> dict[str, float]:
    """The limits of int8 on pairs of sentences; see `calibrate`.

    Args:
        run: gives the tokenizers.
        model: its `keras.Model`.
        pairs: source and target sentences; at most 256, evenly spaced, are
            looked at.
        decoding: the search.

    Raises:
        InputError: there is no pair.
    """
    sources, references = text_columns(run, pairs)
    every = -(-len(sources) // _CALIBRATED)
    batches = pair_batches(
        zip(sources[::every], references[::every], strict=True),
        with_prefix(run.source_tokenizer, decoding),
        run.target_tokenizer,
        run.config.model.max_length,
        batch_sentences=1,  # What pads would count, too.
    )
    return calibrate(
        model,
        (
            (features["source_ids"], features["target_ids"])
            for features, _ in batches
        ),
    )


def choose_precision(
    run: Run,
    pairs: Iterable[tuple[str, str]],
    *,
    weights: str = "best",
    decoding: DecodingConfig | None = None,
    lexicon: Lexicon | None = None,
    progress: Callable[[str], None] | None = None,
) -> PrecisionChoice:
    """The precision that is fastest on this processor and as good.

    Translates the pairs in each precision that the processor can, three times
    in turn. Whichever takes the least time is chosen, if it is faster than
    float32 by `MIN_GAIN` and loses at most `MAX_LOSS` BLEU.

    Args:
        run: a trained run.
        pairs: source and reference sentences, some hundred at least.
        weights: "best", "last" or "average".
        decoding: the search; None: the run's own.
        lexicon: for a search with a shortlist; None: there is none.
        progress: called with a line before each measurement.

    Raises:
        InputError: there is no pair, or the weights are damaged.
    """
    decoding = decoding or run.config.decoding
    pairs = list(pairs)
    columns = text_columns(run, pairs)
    model = run.load_model(weights)
    precisions, limits, without = ["float32", "bfloat16"], None, ""
    try:
        require_int8()
    except InputError as error:
        without = f"; {str(error).partition('. Accepted')[0]}"
    else:
        precisions.append("int8")
        limits = activation_limits(run, model, pairs, decoding)
    translator = functools.partial(
        Translator.from_run, run, model, limits=limits, lexicon=lexicon
    )
    measured = _measure(
        run, translator, columns, decoding, precisions, progress
    )
    least = measured["float32"].bleu - MAX_LOSS
    good = [
        name
        for name, one in measured.items()
        if name == "float32" or (one.bleu >= least and one.speed >= MIN_GAIN)
    ]
    chosen = max(good, key=lambda name: measured[name].speed)
    reason = ", ".join(
        f"{name} is {one.speed:.2f} times as fast as float32 here and loses "
        f"{measured['float32'].bleu - one.bleu:.2f} BLEU"
        for name, one in measured.items()
        if name != "float32"
    )
    return PrecisionChoice(
        chosen, reason + without, measured, limits if chosen == "int8" else None
    )


def _measure(run, translator, columns, decoding, precisions, progress):
    """A `Measurement` of each precision, by name.

    Args:
        run: gives the target's language.
        translator: makes the one of a search.
        columns: sources and references.
        decoding: the search, in another precision each time.
        precisions: names of them.
        progress: called before each is measured; or None.
    """
    sources, references = columns
    translators = {}
    for name in precisions:
        config = dataclasses.replace(decoding, precision=name)
        translators[name] = detailed_translator(translator(config))

    def translate(name):
        results = stream_lines(
            sources,
            one_by_one(translators[name]),
            decoding.batch_size,
            blank=blank_translation,
        )
        return [result.hypotheses[0].text for result in results]

    bleu: dict[str, float] = {}
    seconds: dict[str, list[float]] = {name: [] for name in precisions}
    for name in precisions:
        if progress:
            progress(f"translating {len(sources)} sentences in {name}")
        # Functions are traced, and kernels packed, at the first time.
        language = run.config.data.target_language
        bleu[name] = scores(translate(name), references, language).bleu
    for _ in range(_ROUNDS):
        for name in precisions:
            started = time.perf_counter()
            translate(name)
            seconds[name].append(time.perf_counter() - started)
    medians = {name: statistics.median(seconds[name]) for name in precisions}
    return {
        name: Measurement(
            bleu[name],
            round(medians[name], 3),
            medians["float32"] / max(medians[name], 1e-9),
        )
        for name in precisions
    }


def calibrate(
    model: keras.Model, batches: Iterable[tuple[np.ndarray, np.ndarray]]
) -> dict[str, float]:
    """The largest absolute input of each projection, by name, a little less.

    Args:
        model: `keras.Model` that `build_transformer` made.
        batches: of source ids int32 `(B, S)` and target ids int32 `(B, T)`,
            with START. Without padding, whose rows would count too.
    """
    recorder = _Recorder(model)
    for source_ids, target_ids in batches:
        recorder.predict(tf.constant(source_ids), tf.constant(target_ids))
    return recorder.limits()


class _Recorder(IncrementalTransformer):
    """Notes what goes into each product, run eagerly."""

    def __init__(self, model):
        super().__init__(model)
        self._largest = {}

    def limits(self):
        """`_KEPT` of the largest input of each projection, by name."""
        limits = {}

        def note(name, projection):
            largest = self._largest[projection.kernel.ref()]
            # What was never more than 0 may be so elsewhere.
            limits[name] = _KEPT * largest or 1.0

        map_projections(self.parameters, note)
        return limits

    def _dense(self, x, projection, scaled=False):
        largest = float(np.max(np.abs(x)))
        key = projection.kernel.ref()
        self._largest[key] = max(self._largest.get(key, 0.0), largest)
        return super()._dense(x, projection, scaled)
