"""`evaluate`: scores of a model on a test set."""

import dataclasses
import functools
import os
import pathlib
import warnings
from collections.abc import Callable, Sequence
from typing import Literal

from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.data.corpus import Pairs, sentence_pairs
from keras_transformer.data.masking import mask_pairs
from keras_transformer.data.model_inputs import pair_batches
from keras_transformer.errors import InputError, require_kind, shown
from keras_transformer.evaluation.documents import (
    compare_documents,
    document_numbers,
)
from keras_transformer.evaluation.run_evaluation import (
    Evaluation,
    cross_entropy,
    ensemble_logits,
    evaluation_of,
)
from keras_transformer.evaluation.scoring import Scoring, text_columns
from keras_transformer.exporting.ctranslate2_folder import MODEL
from keras_transformer.exporting.ctranslate2_translator import (
    CTranslate2Translator,
)
from keras_transformer.system.machine import usable_cores
from keras_transformer.training.run import Run
from keras_transformer.training.weights import require_name
from keras_transformer.translation.request import (
    PROJECT,
    WHY,
    TranslationRequest,
)
from keras_transformer.translation.texts import TextTranslator
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
    sentences: Literal["keep", "split"] = "keep",
    documents: bool = False,
) -> Evaluation:
    """Cross-entropy, BLEU and chrF of a model on a test set.

    References get the same simplification of Chinese as the model's training
    data, as the model can only write what it was trained on.

    Args:
        model: a run, a `CTranslate2Translator`, or the folder of either.
        pairs: a file, several, or pairs of sentences; see `sentence_pairs`.
        weights: of a run, "best", "last" or "average"; None: its current
            choice.
        decoding: the search; None: the model's own.
        scoring: settings; None: the language's tokenizer for BLEU, with
            intervals.
        progress: called with the number of sentences just translated.
        ensemble: folders of runs that translate together with a run, by the
            mean of their probabilities; trained on the same prepared data.
        shortlist: pairs of sentences, or files of them, which restrict the
            search of a run to the tokens that they suggest; None: no shortlist.
        sentences: "split": a text's sentences are translated one by one, as
            by other functions; "keep": texts aren't split. Overrides the
            search's.
        documents: whether documents, which blank pairs separate, are also
            translated as one text each: see `Evaluation.documents`.

    Returns:
        The scores, with the translations, as an `Evaluation`. A `UserWarning`
        tells how many pairs were truncated, see `Evaluation.truncated`.

    Raises:
        InputError: there is no pair, a file can't be read, or the model is
            damaged or of another type.
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
        run = TrainedRun.of(model)
        decoding = dataclasses.replace(
            decoding or run.search, sentences=sentences
        )
        run = run.translating_by(weights, decoding, ensemble, shortlist)
        by_document: TextTranslator = run.translating_by(
            decoding=dataclasses.replace(decoding, sentences="split")
        )
        measure = functools.partial(_measure_run, run)
    elif isinstance(model, CTranslate2Translator):
        if ensemble:
            raise InputError("an ensemble is of runs. Received: an export")
        if shortlist is not None:
            raise InputError("a shortlist is of a run. Received: an export")
        if weights is not None:
            raise InputError("an export has one set of weights: no `weights`")
        decoding = dataclasses.replace(
            decoding or model.decoding, sentences=sentences
        )
        model = model.with_search(decoding)
        by_document = model.with_search(
            dataclasses.replace(decoding, sentences="split")
        )
        measure = functools.partial(measure_ctranslate2, model)
    else:
        raise InputError(
            f"evaluate takes a run. Received: {shown(model)}. Accepted: what "
            "train gave, a CTranslate2Translator, or the folder of a run or of "
            "an export for CTranslate2"
        )
    pairs = sentence_pairs(pairs, languages=model.config.data.languages)
    columns = text_columns(model, pairs)
    evaluation = dataclasses.replace(
        measure(columns, scoring, progress),
        blank_pairs=len(pairs) - len(columns[0]),
    )
    if documents:
        compared = compare_documents(
            evaluation.texts,
            document_numbers(pairs),
            model.config.data,
            by_document.translate,
            scoring or Scoring(),
        )
        evaluation = dataclasses.replace(evaluation, documents=compared)
    if evaluation.truncated:
        message = f"{evaluation.truncated:,} truncated pairs: {WHY}"
        warnings.warn(message, stacklevel=2)
    return evaluation


def _measure_run(run, columns, scoring, progress):
    """Measures a run with its current settings.

    The cross-entropy is over all tokens, even with a shortlist.
    """
    models = run.load_models()
    translator = run.new_translator(run.markup == PROJECT, models)
    request = TranslationRequest(
        markup=run.markup, placeholders=run.placeholders
    )
    symbols = translator.placeholders if run.markup is None else None
    pairs = _as_read(columns, symbols)
    max_length = min(
        one.config.model.max_length
        for one in (run, *map(Run.load, run.ensemble))
    )
    batches = pair_batches(
        pairs, translator.source_tokenizer, run.target_tokenizer, max_length
    )
    return evaluation_of(
        cross_entropy(ensemble_logits(models), batches),
        run.function_of(translator, request),
        columns,
        [reference for _, reference in pairs],
        run,
        max_length,
        run.search,
        scoring,
        progress,
    )


def _as_read(columns, placeholders):
    """Pairs with symbols in place of markup, unless `placeholders` is None."""
    pairs = list(zip(*columns, strict=True))
    return pairs if placeholders is None else mask_pairs(pairs, placeholders)


def measure_ctranslate2(
    translator: CTranslate2Translator,
    columns: tuple[list[str], list[str]],
    scoring: Scoring | None = None,
    progress: Callable[[int], None] | None = None,
) -> Evaluation:
    """Measures an export for CTranslate2.

    Probabilities are among the tokens that may be generated. Sources without
    any token that the model sees are left out.

    Args:
        translator: the export, with its search.
        columns: sources and references, of which none is blank.
        scoring, progress: see `evaluate`.

    Raises:
        InputError: no source has a token that the model sees.
    """
    pairs = _as_read(columns, translator.placeholders)
    sources, references = map(list, zip(*pairs, strict=True))
    decoding = translator.decoding
    scored = []
    for begin in range(0, len(sources), decoding.batch_size):
        part = slice(begin, begin + decoding.batch_size)
        ids = translator.target_ids(references[part])
        scored += translator.token_log_probabilities(sources[part], ids)
    model = translator.config.model
    # CTranslate2 returns only zeros if the model sees no token of a source.
    framed = model.source_start or model.source_end
    values = [v for row in scored if framed or any(row) for v in row]
    if not values:
        raise InputError("no source has a token that the model sees")
    return evaluation_of(
        (-sum(values) / len(values), len(values)),
        translator.results,
        columns,
        references,
        translator,
        model.max_length,
        decoding,
        scoring,
        progress,
    )
