"""`evaluate`: what a model reaches on a test set."""

import os
import pathlib
import warnings
from collections.abc import Callable, Sequence

from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.data.corpus import Pairs
from keras_transformer.errors import InputError, require_kind, shown
from keras_transformer.evaluation.run_evaluation import (
    Evaluation,
    evaluate_run,
    evaluate_translator,
)
from keras_transformer.evaluation.scoring import Scoring
from keras_transformer.exporting.ctranslate2_folder import MODEL
from keras_transformer.exporting.ctranslate2_translator import (
    CTranslate2Translator,
)
from keras_transformer.system.machine import usable_cores
from keras_transformer.training.run import Run
from keras_transformer.training.weights import require_name
from keras_transformer.translation.request import WHY
from keras_transformer.translation.trained_run import TrainedRun


def evaluate(
    model: Run | CTranslate2Translator | str | os.PathLike,
    pairs: Pairs,
    *,
    weights: str | None = None,
    decoding: DecodingConfig | None = None,
    scoring: Scoring | None = None,
    progress: Callable[[int], None] | None = None,
    ensemble: Sequence[str | os.PathLike] | str | os.PathLike = (),
    shortlist: Pairs | None = None,
) -> Evaluation:
    """Cross-entropy, BLEU and chrF of a model on a test set.

    Args:
        model: a run, a `CTranslate2Translator`, or the folder of either.
        pairs: a file, several, or pairs of sentences; see `sentence_pairs`.
        weights: of a run, "best", "last" or "average"; None: those that
            it translates by.
        decoding: the search; None: the model's own.
        scoring: None: BLEU by the language's tokenizer, with intervals.
        progress: called with the number of sentences just translated.
        ensemble: folders of runs that translate together with a run, by the
            mean of their probabilities; trained on the same prepared data.
        shortlist: pairs of sentences, or files of them: translations of a run
            are searched among tokens that these suggest; None: among all.

    Returns:
        The scores, in `Evaluation`, with the translations that they are of. A
        `UserWarning` says how many pairs are cut off, `Evaluation.truncated`.

    Raises:
        InputError: there is no pair, a file can't be read, or the model is
            damaged or another thing.
    """
    require_name(weights)
    require_kind(decoding, DecodingConfig, "decoding")
    require_kind(scoring, Scoring, "scoring")
    if isinstance(model, str | os.PathLike):
        if (pathlib.Path(model) / MODEL).is_file():
            model = CTranslate2Translator(model, threads=usable_cores())
        else:
            model = TrainedRun.load(model)
    if isinstance(model, Run):
        run = TrainedRun.of(model).translating_by(
            weights, decoding, ensemble, shortlist
        )
        return _warned(
            evaluate_run(run, pairs, scoring=scoring, progress=progress)
        )
    if not isinstance(model, CTranslate2Translator):
        raise InputError(
            f"evaluate takes a run. Received: {shown(model)}. Accepted: what "
            "train gave, a CTranslate2Translator, or the folder of a run or of "
            "an export for CTranslate2"
        )
    if ensemble:
        raise InputError("an ensemble is of runs. Received: an export")
    if shortlist is not None:
        raise InputError("a shortlist is of a run. Received: an export")
    if weights is not None:
        raise InputError("an export has one set of weights: no `weights`")
    if decoding is not None:
        model = model.with_search(decoding)
    return _warned(
        evaluate_translator(model, pairs, scoring=scoring, progress=progress)
    )


def _warned(evaluation):
    if evaluation.truncated:
        message = f"{evaluation.truncated:,} truncated pairs: {WHY}"
        warnings.warn(message, stacklevel=3)
    return evaluation
