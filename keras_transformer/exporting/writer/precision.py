"""Choice of an export's precision by measuring speed and BLEU."""

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


# Largest BLEU loss accepted for a faster export.
MAX_LOSS = 0.2
# Smallest speedup over float32 for which a precision is chosen.
MIN_GAIN = 1.05
# Pairs used to find the largest inputs of the projections.
_CALIBRATED = 256
_ROUNDS = 3
# Limits as a share of the largest input. Clipping a few inputs costs less than
# coarser steps for all: log-probabilities of the `tatoeba` preset's model
# change by 0.013 on average, versus 0.015 at 1.0 and 0.019 at 0.7.
_KEPT = 0.9


@dataclasses.dataclass(frozen=True)
class Measurement:
    """Quality and speed of a precision on a test set.

    Attributes:
        bleu: 0 to 100.
        seconds: time to translate the test set, the median of three rounds.
        speed: speedup over float32: its seconds divided by these.
    """

    bleu: float
    seconds: float
    speed: float


@dataclasses.dataclass(frozen=True)
class PrecisionChoice:
    """A chosen precision and the measurements behind it.

    Attributes:
        precision: the precision to export in.
        reason: one line.
        measured: a `Measurement` by precision.
        limits: int8 activation limits for `export_run`; None for other
            precisions.
    """

    precision: str
    reason: str
    measured: dict[str, Measurement]
    limits: dict[str, float] | None

    def to_dict(self) -> dict:
        """Returns a JSON-serializable dict without the limits."""
        content = dataclasses.asdict(self)
        del content["limits"]
        return content


def activation_limits(
    run: Run,
    model: keras.Model,
    pairs: Iterable[tuple[str, str]],
    decoding: DecodingConfig,
) -> dict[str, float]:
    """Calibrates int8 activation limits on sentence pairs; see `calibrate`.

    Args:
        run: the run, for its tokenizers.
        model: the run's `keras.Model`.
        pairs: source and target sentences; at most 256, evenly spaced, are
            used.
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
        batch_sentences=1,  # Padding would count, too.
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
    """Chooses the fastest precision on this processor without losing quality.

    Translates the pairs in each precision that the processor supports, three
    times in turn. The fastest one is chosen that is at least `MIN_GAIN` times
    as fast as float32 and loses at most `MAX_LOSS` BLEU; otherwise float32.

    Args:
        run: a trained run.
        pairs: source and reference sentences, at least a few hundred.
        weights: "best", "last" or "average".
        decoding: the search; None: the run's own.
        lexicon: for a search with a shortlist; None: no shortlist.
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
    """Returns a `Measurement` of each precision, by name.

    Args:
        run: the run, for its target language.
        translator: function that creates a translator for a search.
        columns: sources and references.
        decoding: the search; its precision is replaced.
        precisions: names of the precisions to measure.
        progress: called with a line before each measurement; or None.
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
        # Not timed: the first call traces functions and packs kernels.
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
    """Measures int8 activation limits by the name of each projection.

    A limit is 0.9 times the largest absolute input of the projection.

    Args:
        model: a `keras.Model` from `build_transformer`.
        batches: source ids int32 `(B, S)` and target ids int32 `(B, T)`, with
            START. They must not be padded, as padding would count, too.
    """
    recorder = _Recorder(model)
    for source_ids, target_ids in batches:
        recorder.predict(tf.constant(source_ids), tf.constant(target_ids))
    return recorder.limits()


class _Recorder(IncrementalTransformer):
    """Records the largest input of each projection; runs eagerly."""

    def __init__(self, model):
        super().__init__(model)
        self._largest = {}

    def limits(self):
        """Returns `_KEPT` times the largest input of each projection."""
        limits = {}

        def note(name, projection):
            largest = self._largest[projection.kernel.ref()]
            # Inputs that were always 0 here may differ on other texts.
            limits[name] = _KEPT * largest or 1.0

        map_projections(self.parameters, note)
        return limits

    def _dense(self, x, projection, scaled=False):
        largest = float(np.max(np.abs(x)))
        key = projection.kernel.ref()
        self._largest[key] = max(self._largest.get(key, 0.0), largest)
        return super()._dense(x, projection, scaled)
