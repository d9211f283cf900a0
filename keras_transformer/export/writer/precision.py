"""The precision of an export, chosen by measuring speed and BLEU."""

import dataclasses
from collections.abc import Callable, Iterable

from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.evaluation.run_evaluation import Evaluation, evaluate_run
from keras_transformer.inference.weight_fusion import DTYPES
from keras_transformer.training.run import Run

# BLEU that a faster export may lose.
MAX_LOSS = 0.1
# How much faster it has to be.
MIN_GAIN = 1.05


@dataclasses.dataclass(frozen=True)
class PrecisionChoice:
    """What was measured, and what follows.

    Attributes:
        precision: the one to export in.
        reason: one line.
        evaluations: by precision.
    """

    precision: str
    reason: str
    evaluations: dict[str, Evaluation]


def choose_precision(
    run: Run,
    pairs: Iterable[tuple[str, str]],
    *,
    which: str = "best",
    decoding: DecodingConfig | None = None,
    progress: Callable[[str], None] | None = None,
) -> PrecisionChoice:
    """bfloat16 where it is faster on this processor and as good.

    Translates the pairs in both precisions. bfloat16 is chosen if it takes
    less time by `MIN_GAIN` and at most `MAX_LOSS` BLEU is lost.

    Args:
        run: a trained run.
        pairs: source and reference sentences, some hundred at least.
        which: weights, "best", "last" or "average".
        decoding: the search; None: the run's own.
        progress: called with a line before each measurement.
    """
    pairs = list(pairs)
    decoding = decoding or run.config.decoding
    evaluations = {}
    for precision in DTYPES:
        if progress:
            progress(f"translating {len(pairs)} sentences in {precision}")
        config = dataclasses.replace(decoding, precision=precision)
        evaluations[precision] = evaluate_run(
            run, pairs, which=which, decoding=config
        )
    full, half = evaluations["float32"], evaluations["bfloat16"]
    gain = full.seconds / max(half.seconds, 1e-9)
    loss = full.bleu - half.bleu
    chosen = gain >= MIN_GAIN and loss <= MAX_LOSS
    return PrecisionChoice(
        "bfloat16" if chosen else "float32",
        f"bfloat16 is {gain:.2f} times as fast here and loses {loss:.2f} BLEU",
        evaluations,
    )
