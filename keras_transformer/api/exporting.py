"""`export`: writes a run in a format for serving."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.errors import InputError, require_kind

if TYPE_CHECKING:
    from keras_transformer.data.corpus import Pairs
    from keras_transformer.exporting.verification.checks import CheckResult
    from keras_transformer.exporting.writer.saved_model import ExportReport
    from keras_transformer.training.run import Run

TFSERVING, CTRANSLATE2, KERAS = "tfserving", "ctranslate2", "keras"
FORMATS = (TFSERVING, CTRANSLATE2, KERAS)
PRECISIONS = ("float32", "bfloat16", "int8", "auto")
_OF_SAVED_MODEL = (
    "version",
    "decoding",
    "precision",
    "dev",
    "warmup_texts",
    "ensemble",
    "shortlist",
)
# Arguments of each format, in addition to `weights`.
ARGUMENTS = {
    None: _OF_SAVED_MODEL,
    TFSERVING: _OF_SAVED_MODEL,
    CTRANSLATE2: ("quantization", "decoding"),
    KERAS: (),
}


def export(
    run: Run | str | os.PathLike,
    out: str | os.PathLike,
    *,
    format: str | None = None,
    weights: str | None = None,
    version: int | None = None,
    decoding: DecodingConfig | None = None,
    precision: str | None = None,
    dev: Pairs | None = None,
    warmup_texts: Sequence[str] | None = None,
    quantization: str | None = None,
    progress: Callable[[str], None] | None = None,
    ensemble: Sequence[str | os.PathLike] | str | os.PathLike = (),
    shortlist: Pairs | None = None,
) -> ExportReport:
    """Writes a run as a SavedModel for TensorFlow Serving, or otherwise.

    The export is checked in fresh processes, and published when all checks
    have passed.

    Args:
        run: a run or its folder.
        out: the model's folder, which holds its versions; with "keras" and
            "ctranslate2" a new folder.
        format: None: a SavedModel; "tfserving": also the files that a server
            starts with, beside `out`; "keras": a folder with model.keras;
            "ctranslate2": a folder for CTranslate2.
        weights: "best", "last" or "average"; None: the run's current choice.
        version: number of a SavedModel; None: one above the highest in `out`.
        decoding: the search; None: the run's current one.
        precision: of a SavedModel's products with weights: "float32",
            "bfloat16", "int8", or "auto", which measures speed and BLEU on
            `dev`; None: the search's.
        dev: pairs or files of them, see `sentence_pairs`: for "auto", and
            with "int8" for the ranges of activations.
        warmup_texts: source sentences for the server to warm up with; None:
            sentences of frequent tokens.
        quantization: of the weights with "ctranslate2"; None: "float32".
        progress: called with a line before each long step.
        ensemble: with a SavedModel, folders of runs that translate together
            with this one, by the mean of their probabilities; trained on the
            same prepared data. Empty: the run's current ones.
        shortlist: with a SavedModel, pairs of sentences, or files of them,
            which restrict the search to the tokens that they suggest; None:
            the run's current one.

    Returns:
        a report, with the `path` of the published export, its `size` in bytes
        and the `checks`.

    Raises:
        InputError: arguments don't fit together, a file is missing or can't
            be written, or a check failed.

    Example:
        >>> report = export("runs/en-zh", "saved_models/en-zh")
        >>> load(report.path).translate("I like tea.")
        '我喜欢茶。'
    """
    from keras_transformer.training.weights import require_name
    from keras_transformer.translation.lexicon import lexicon_of
    from keras_transformer.translation.trained_run import TrainedRun

    require_name(weights)
    require_kind(decoding, DecodingConfig, "decoding")
    require_kind(version, int, "version")
    run = TrainedRun.of(run).translating_by(weights, None, ensemble, shortlist)
    ensemble, shortlist = run.ensemble, run.shortlist
    if "decoding" in ARGUMENTS.get(format, ()):
        decoding = decoding or run.decoding
    _check(
        format,
        version=version,
        decoding=decoding,
        precision=precision,
        dev=dev,
        warmup_texts=warmup_texts,
        quantization=quantization,
        ensemble=ensemble or None,
        shortlist=shortlist,
    )
    if ensemble and dev:
        raise InputError(
            "a dev set (--dev) doesn't work with an ensemble. Accepted: "
            "precision float32, bfloat16 or int8, and no dev set"
        )
    if format == TFSERVING:
        from keras_transformer.exporting.server_files import (
            require_model_name,
        )

        # Fails before the long work.
        require_model_name(out)
    progress = progress or (lambda line: None)
    common: dict[str, Any] = {"weights": run.weights, "progress": progress}
    if format == CTRANSLATE2:
        from keras_transformer.exporting.writer.ctranslate2 import (
            export_ctranslate2,
        )

        quantization = quantization or "float32"
        return export_ctranslate2(
            run, out, quantization=quantization, decoding=decoding, **common
        )
    if format == KERAS:
        from keras_transformer.exporting.writer.keras_file import export_keras

        return export_keras(run, out, **common)
    from keras_transformer.exporting.writer.saved_model import export_run

    common["lexicon"] = lexicon_of(run, shortlist)
    decoding, quantized = _with_precision(
        run, decoding or run.config.decoding, precision, dev, common
    )
    report = export_run(
        run,
        out,
        version=version,
        decoding=decoding,
        warmup_texts=warmup_texts,
        ensemble=ensemble,
        **quantized,
        **common,
    )
    _write_server_files(out, format, progress)
    return report


def verify(
    folder: str | os.PathLike, progress: Callable[[str], None] | None = None
) -> tuple[pathlib.Path, tuple[CheckResult, ...]]:
    """Runs all checks of an export again, in fresh processes.

    Args:
        folder: of a version, of a model, whose latest version is taken, or of
            an export for CTranslate2.
        progress: called with a line before the checks.

    Returns:
        the folder that was checked, and the result of each check.

    Raises:
        InputError: the folder has no export.
    """
    from keras_transformer.exporting.ctranslate2_folder import is_export
    from keras_transformer.exporting.registry.version_folders import (
        find_saved_model,
    )
    from keras_transformer.exporting.verification.checks import (
        CTRANSLATE2_CHECKS,
        SAVED_MODEL_CHECKS,
        check_in_fresh_process,
    )

    folder = pathlib.Path(folder)
    if is_export(folder):
        module = CTRANSLATE2_CHECKS
    else:
        folder, module = find_saved_model(folder), SAVED_MODEL_CHECKS
    if progress is not None:
        progress(f"checking {folder} in fresh processes")
    return folder, check_in_fresh_process(folder, module)


def _check(format, **given):
    """Refuses unknown formats, and arguments that the format doesn't take."""
    if format not in ARGUMENTS:
        raise InputError(
            f"unknown format {format!r}. Accepted: None, {', '.join(FORMATS)}"
        )
    for name, value in given.items():
        if value is not None and name not in ARGUMENTS[format]:
            formats = " or ".join(
                repr(other)
                for other, names in ARGUMENTS.items()
                if name in names
            )
            raise InputError(
                f"{name} goes with format {formats}. Received: {format!r}"
            )


def _with_precision(run, decoding, precision, dev, common):
    """The search, with the requested or the best measured precision.

    Returns:
        `DecodingConfig`, and further arguments of `export_run`.

    Raises:
        InputError: arguments don't fit together, or the machine can't do
            int8.
    """
    from keras_transformer.inference.quantization import (
        INSTRUCTIONS,
        require_int8,
    )
    from keras_transformer.system.machine import multiplies_int8

    precision = precision or decoding.precision
    if precision not in PRECISIONS:
        raise InputError(
            f"unknown precision {precision!r}. Accepted: "
            f"{', '.join(PRECISIONS)}"
        )
    decoding = dataclasses.replace(
        decoding, precision="float32" if precision == "auto" else precision
    )
    if precision == "auto" and not dev:
        raise InputError("precision auto needs a dev set (--dev FILE)")
    if dev and precision not in ("auto", "int8"):
        raise InputError("a dev set (--dev) goes with precision auto or int8")
    if precision == "int8":
        # Fails before the long work.
        require_int8()
        if not multiplies_int8():
            warnings.warn(
                f"this processor has neither {' nor '.join(INSTRUCTIONS)}: "
                "int8 may be no faster than float32 on it, and cuts off large "
                "sums. Precision auto measures both",
                stacklevel=4,
            )
    if not dev:
        return decoding, {}
    return _measured(run, decoding, precision, dev, **common)


def _measured(run, decoding, precision, dev, weights, lexicon, progress):
    """Like `_with_precision`, from measurements on the pairs of a dev set."""
    from keras_transformer.data.corpus import sentence_pairs
    from keras_transformer.exporting.writer.precision import (
        activation_limits,
        choose_precision,
    )

    pairs = sentence_pairs(dev)
    if precision == "int8":
        progress("looking at what is multiplied")
        model = run.load_model(weights)
        limits = activation_limits(run, model, pairs, decoding)
        return decoding, {"limits": limits}
    choice = choose_precision(
        run,
        pairs,
        weights=weights,
        decoding=decoding,
        lexicon=lexicon,
        progress=progress,
    )
    for name, one in choice.measured.items():
        progress(
            f"{name}: BLEU {one.bleu:.2f}, {one.seconds:.2f} seconds, "
            f"{one.speed:.2f} times as fast as float32"
        )
    progress(f"{choice.precision}: {choice.reason}")
    decoding = dataclasses.replace(decoding, precision=choice.precision)
    return decoding, {"limits": choice.limits, "measured": choice.to_dict()}


def _write_server_files(out, format, progress):
    """Writes the requested server files, or updates existing ones."""
    from keras_transformer.exporting.server_files import (
        refresh_server_files,
        write_server_files,
    )

    if format is None:
        written, kept = refresh_server_files(out), list[pathlib.Path]()
    else:
        written, kept = write_server_files(out)
    for path in written:
        progress(f"wrote {path}")
    for path in kept:
        progress(f"kept {path}: its owner has changed it")
