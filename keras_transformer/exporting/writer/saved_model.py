"""Export of a run to a version folder that TensorFlow Serving loads."""

import dataclasses
import datetime
import os
import pathlib
import re
import time
from collections.abc import Callable, Sequence
from typing import Any

import keras
import tensorflow as tf

from keras_transformer.blank import is_blank
from keras_transformer.config import Config
from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.constants import SIDES, SPECIAL_TOKENS
from keras_transformer.contract import layout
from keras_transformer.errors import InputError
from keras_transformer.exporting.registry.version_folders import (
    absolute,
    choose_version,
    folder_size,
)
from keras_transformer.exporting.verification.checks import (
    CheckResult,
    check_in_fresh_process,
    require_passed,
)
from keras_transformer.exporting.warmup_requests import (
    MAX_TEXTS,
    write_warmup,
)
from keras_transformer.exporting.writer.signatures import TracedSignatures
from keras_transformer.inference import quantization
from keras_transformer.search.shortlist import Lexicon
from keras_transformer.symbols import SYMBOLS
from keras_transformer.system.files import (
    json_text,
    new_folder,
    read_json,
    write_json,
    write_text,
)
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training.run import Run
from keras_transformer.translation.ensemble import load_members
from keras_transformer.translation.texts import text_list
from keras_transformer.version import versions

_WARMUP_LENGTHS = (1, 6, 15, 30)  # tokens
_BYTE = re.compile("<0x[0-9A-F]{2}>")
# A pair of symbols nested in another one, and a single symbol.
_MARKED = "⟨1⟩a ⟨2⟩b⟨/2⟩⟨/1⟩ ⟨3/⟩"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExportReport:
    """Report of an export.

    Attributes:
        path: the folder that was published.
        size: total bytes of its files.
        checks: the `CheckResult` of every check, all passed.
        seconds: duration of the whole export, checks included.
        version: number of a SavedModel's version. None for other formats, as
            are the following two.
        variables: number of weight tensors.
        signatures: names of the signatures.
        precision: precision of a SavedModel's products with weights, or None.
        quantization: quantization of a CTranslate2 export, or None.
    """

    path: pathlib.Path
    size: int
    checks: tuple[CheckResult, ...] = dataclasses.field(default=(), repr=False)
    seconds: float
    version: int | None = None
    variables: int | None = None
    signatures: tuple[str, ...] | None = dataclasses.field(
        default=None, repr=False
    )
    precision: str | None = None
    quantization: str | None = None

    def to_dict(self) -> dict:
        """Returns a JSON-serializable dict of the values that aren't None."""
        return {
            key: str(value) if isinstance(value, pathlib.Path) else value
            for key, value in dataclasses.asdict(self).items()
            if value is not None
        }


def export_run(
    run: Run,
    base: str | os.PathLike,
    *,
    version: int | None = None,
    weights: str = "best",
    decoding: DecodingConfig | None = None,
    warmup_texts: Sequence[str] | None = None,
    limits: dict[str, float] | None = None,
    measured: dict | None = None,
    progress: Callable[[str], None] | None = None,
    ensemble: Sequence[str | os.PathLike] = (),
    lexicon: Lexicon | None = None,
) -> ExportReport:
    """Writes, checks and publishes `base/version` as a SavedModel.

    Signatures: `serving_default` (beam search) and `greedy` translate `text`
    string `(B,)`; `nbest` returns K translations of each text, `score` scores
    given translations; `tokenize` returns ids, `align` the tokens of both
    sides and the target's attention weights. Their inputs and outputs are
    those of `contract.layout.SIGNATURES`. Weights are in the search's
    precision, float32, bfloat16 or int8, whatever the run was trained in.
    Until every check has passed, the folder has a name that the server
    ignores; if one fails, the folder is removed.

    Args:
        run: a trained run.
        base: the folder of the model's versions; created if missing.
        version: the version's number; None: one above the highest.
        weights: "best", "last" or "average".
        decoding: the search of `serving_default`; None: the run's own.
        warmup_texts: source sentences for the server's warm-up and for the
            checks; None: texts generated from frequent tokens.
        limits: for int8, activation limits from `precision.calibrate`; None:
            scales are computed for each row while translating.
        measured: measurements behind the choice of precision, to be kept in
            the description; JSON-serializable. None: there are none.
        progress: called with a line before each long step.
        ensemble: folders of further runs that translate with this one.
        lexicon: for a shortlist, not with an ensemble; None: no shortlist.

    Returns:
        What was written and the results of the checks.

    Raises:
        InputError: the version exists, the weights are damaged, the folder
            can't be written, or a check failed.
    """
    started = time.monotonic()
    progress = progress or (lambda line: None)
    version = choose_version(base, version)
    target = pathlib.Path(base) / str(version)
    texts = _texts(run, warmup_texts)
    config, model = load_exported(run, weights, decoding)
    others = load_members(run, ensemble, weights)
    progress("tracing the graph")
    traced = TracedSignatures(
        model,
        run.source_tokenizer,
        run.target_tokenizer,
        config.decoding,
        limits,
        others,
        lexicon,
        config.data,
    )
    reference = traced.reference([*texts, ""])
    with new_folder(target) as folder:
        progress(f"writing {target}")
        traced.save(folder)
        (folder / layout.WARMUP).parent.mkdir(exist_ok=True)
        model_name = absolute(base).name
        inputs = {
            signature: {name: values[:-1] for name, values in columns.items()}
            for signature, columns in reference["inputs"].items()
        }  # Without the last row, which is empty.
        write_warmup(folder / layout.WARMUP, model_name, inputs)
        write_text(folder / layout.REFERENCE, json_text(reference) + "\n")
        write_json(
            folder / layout.DESCRIPTION,
            _describe_graph(config.decoding, traced.variable_count, limits)
            | ({"precision_measured": measured} if measured else {})
            | describe(run, config, weights, [model, *others])
            | _describe_shortlist(lexicon)
            | _describe_members(ensemble, weights),
        )
        progress("checking it in fresh processes, a minute or more")
        checks = check_in_fresh_process(folder)
        require_passed(checks)
    return ExportReport(
        path=target,
        version=version,
        size=folder_size(target),
        variables=traced.variable_count,
        signatures=tuple(layout.SIGNATURES),
        checks=checks,
        seconds=round(time.monotonic() - started, 1),
        precision=config.decoding.precision,
    )


def load_exported(
    run: Run, weights: str, decoding: DecodingConfig | None = None
) -> tuple[Config, keras.Model]:
    """Loads a run's configuration and model for export.

    Args:
        run: a trained run.
        weights: "best", "last" or "average".
        decoding: the search; None: the run's own.

    Raises:
        InputError: the backend isn't TensorFlow, or the weights are missing.
    """
    if keras.config.backend() != "tensorflow":
        raise InputError(
            "export needs KERAS_BACKEND=tensorflow. Received: "
            f"{keras.config.backend()}"
        )
    # The layers' weights are float32 under every policy; the search determines
    # the export's precision.
    config = dataclasses.replace(
        run.config,
        decoding=decoding or run.config.decoding,
        training=dataclasses.replace(run.config.training, precision="float32"),
    )
    tokenizers = run.source_tokenizer, run.target_tokenizer
    exported = Run(run.folder, config, run.manifest, tokenizers)
    return config, exported.load_model(weights)


def _texts(run, given):
    """Returns the given warm-up texts, or generates some."""
    if given is None:
        texts = frequent_tokens(run.source_tokenizer)
        if run.source_tokenizer.first_symbol is not None:
            # The checks verify that its symbols are in the translation.
            texts[-1] = f"{_MARKED} {texts[-1]}"
        return texts
    texts = [
        text.encode("utf-8", "replace").decode()
        for text in text_list(given, "warmup_texts")
        if not is_blank(text)
    ]
    if not 0 < len(texts) <= MAX_TEXTS:
        raise InputError(
            f"warm-up needs 1 to {MAX_TEXTS} texts that aren't blank. "
            f"Received: {len(texts)}"
        )
    return texts


def frequent_tokens(
    tokenizer: Tokenizer, lengths: Sequence[int] = _WARMUP_LENGTHS
) -> list[str]:
    """Generates texts from the vocabulary's first tokens, in any language.

    Args:
        tokenizer: `Tokenizer`.
        lengths: the number of tokens of each text.
    """
    tokens = tokenizer.tokens()[len(SPECIAL_TOKENS) :]
    # Byte tokens come first but aren't frequent, and many aren't valid UTF-8.
    ids = [
        i
        for i, token in enumerate(tokens, start=len(SPECIAL_TOKENS))
        if not _BYTE.fullmatch(token) and token not in SYMBOLS
    ]
    rows = [[ids[i % len(ids)] for i in range(length)] for length in lengths]
    texts = tokenizer.detokenize(tf.ragged.constant(rows, tf.int32))
    return [text.decode("utf-8", "replace") for text in texts.numpy()]


def describe(
    run: Run, config: Config, weights: str, models: Sequence[keras.Model]
) -> dict:
    """Describes an export of any format; JSON-serializable.

    Args:
        run: the exported run.
        config: its configuration with the exported decoding.
        weights: "best", "last" or "average".
        models: one Keras model, or those of an ensemble.
    """
    tokenizers = {
        side: {
            "kind": tokenizer.kind,
            "vocabulary_size": tokenizer.vocabulary_size,
            "fingerprint": tokenizer.fingerprint(),
        }
        for side, tokenizer in zip(
            SIDES, (run.source_tokenizer, run.target_tokenizer), strict=True
        )
    }
    manifest = run.manifest
    initial = manifest.get("initial", {})
    imported = manifest.get("imported") or initial.get("imported")
    now = datetime.datetime.now(datetime.UTC)
    return {
        "created": now.isoformat(timespec="seconds"),
        "versions": versions(),
        "languages": {
            "source": config.data.source_language,
            "target": config.data.target_language,
        },
        "tokenizers": tokenizers,
        "parameters": sum(model.count_params() for model in models),
        "weights": {"name": weights, **_weight_notes(run, weights)},
        "scores": manifest["scores"],
        "data": manifest["data"],
        # The origin of an imported model, with its licence.
        **({"imported": imported} if imported else {}),
        "run_versions": manifest.get("versions", {}),
        "config": config.to_dict(),
    }


def _describe_members(folders, weights) -> dict:
    """Describes an ensemble's other runs."""
    members = [
        {"folder": str(run.folder), **_weight_notes(run, weights)}
        for run in map(Run.load, folders)
    ]
    return {"ensemble": members} if members else {}


def _describe_shortlist(lexicon) -> dict:
    """Describes a shortlist."""
    if lexicon is None:
        return {}
    _, candidates = lexicon.candidates.shape
    sizes = {"candidates": candidates, "frequent": len(lexicon.frequent)}
    return {"shortlist": sizes}


def _describe_graph(
    decoding: DecodingConfig, variables: int, limits: dict | None
) -> dict:
    """Describes a SavedModel's graph.

    Args:
        decoding: the search.
        variables: number of weight tensors.
        limits: see `export_run`.
    """
    quantized: dict[str, Any] = {}
    if decoding.precision == "int8":
        quantized["needs"] = {
            "operation": quantization.OPERATION,
            "seen_in_tensorflow": list(quantization.TENSORFLOW_VERSIONS),
            "instructions": list(quantization.INSTRUCTIONS),
        }
        quantized["activations"] = "static" if limits else "dynamic"
        if limits:
            quantized["limits"] = limits
    beams = {
        layout.BEAM: {"beam_size": decoding.beam_size},
        layout.GREEDY: {"beam_size": 1},
        layout.NBEST: {"beam_size": decoding.beam_size},
        layout.SCORING: {},
        layout.TOKENIZE: {},
        layout.ALIGN: {"beam_size": decoding.beam_size},
    }
    return {
        "format": layout.FORMAT,
        "format_version": layout.FORMAT_VERSION,
        "signatures": beams,
        "precision": decoding.precision,
        **quantized,
        "variables": variables,
    }


def _weight_notes(run, weights):
    """Returns epoch and scores of the weights, if the run recorded them."""
    path = run.folder / "weights" / f"{weights}.json"
    notes = read_json(path) if path.is_file() else {}
    if "sha256" in notes:
        notes["sha256"] = notes["sha256"][-1]
    return notes
