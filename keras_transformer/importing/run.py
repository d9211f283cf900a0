"""Writes an imported model as a run.

The run has no data and no epochs, but everything else. Its manifest has the
origin under `imported`; licence and model card are in its folder `imported/`.
"""

import os
import re
import warnings

from keras_transformer.config import Config
from keras_transformer.constants import SIDES
from keras_transformer.errors import InputError
from keras_transformer.importing.folders import (
    check_files,
    copy_own_files,
    is_own,
    read_head,
    require_own,
)
from keras_transformer.importing.foreign import ForeignModel, weights_of
from keras_transformer.importing.hub import model_folder
from keras_transformer.importing.hugging_face import CONFIG, read_hugging_face
from keras_transformer.importing.opennmt import find_settings, read_opennmt
from keras_transformer.importing.original import DECODER, read_original
from keras_transformer.importing.vocabulary import make_tokenizer, new_order
from keras_transformer.languages import is_tag
from keras_transformer.models import build_transformer
from keras_transformer.system.checksums import describe_file
from keras_transformer.system.files import (
    new_folder,
    write_json,
    write_text,
)
from keras_transformer.training.run import Run, new_manifest
from keras_transformer.training.weights import save_weights, weights_path

IMPORTED = "imported"
_NOTICES = ("README*", "LICEN[CS]E*", "NOTICE*", "CITATION*")
# The first one, if a model card lists several.
_LICENSE = re.compile(r"^license:[ \t]*(?:\n[ \t]*-)?(.*)$", re.M)
_LONGEST_LICENSE = 100


def read_model(folder: str | os.PathLike) -> ForeignModel:
    """Reads a model of Hugging Face's, Marian's or OpenNMT-tf's format.

    Args:
        folder: a folder, or a name on Hugging Face's hub, see `model_folder`.

    Raises:
        InputError: the folder isn't of any of these formats, is damaged, or a
            setting isn't supported.
    """
    folder = model_folder(folder)
    check_files(folder)
    if (folder / DECODER).is_file():
        return read_original(folder)
    if (folder / CONFIG).is_file():
        return read_hugging_face(folder)
    if find_settings(folder):
        return read_opennmt(folder)
    raise InputError(
        f"{folder}: no {CONFIG}, no {DECODER} and no .yml with "
        "source_vocabulary. Accepted: a folder of a model of Hugging Face's, "
        "of Marian or of OpenNMT-tf"
    )


def import_run(
    folder: str | os.PathLike,
    out: str | os.PathLike,
    positions: str = "tensor2tensor",
    source_language: str | None = None,
    target_language: str | None = None,
    source_prefix: str = "",
    punctuation: str = "auto",
) -> Run:
    """Imports a model that another program trained as a run.

    Args:
        folder: folder of a MarianMTModel, M2M100 or NLLB, of Marian itself or
            of OpenNMT-tf; or a name on Hugging Face's hub.
        out: folder that doesn't exist yet or is empty.
        positions: "tensor2tensor": computed as in Marian, which trained the
            model; "sinusoidal": as in transformers, for models that were
            trained further there.
        source_language: tag of the source language; None: the folder's.
        target_language: tag of the target language; None: the folder's.
        source_prefix: language code to add to sources without one, such as
            `>>cmn_Hans<<`.
        punctuation: "none"; "moses": normalised as by Moses' script; "auto":
            as the folder specifies.

    Raises:
        InputError: the folder is damaged or not supported, or `out` can't be
            written.
    """
    model = read_model(folder)
    for path in model.files:
        if not path.exists():
            raise InputError(
                f"{path}: No such file. Accepted: all files of the model, as "
                "`hf download` writes them; docs/en/guides/opus-mt.md names "
                "them"
            )
        require_own(path, model.folder)
    if positions not in model.accepted_positions:
        raise InputError(
            f"{folder}: --positions {positions} of a model of {model.kind}. "
            f"Accepted: {' or '.join(model.accepted_positions)}"
        )
    sides = zip(model.vocabularies, model.paddings, model.starts, strict=True)
    orders = [new_order(*side) for side in sides]
    if punctuation == "auto":
        punctuation = model.punctuation
    languages = source_language, target_language
    config = _config(model, positions, languages, source_prefix)
    prefixes = _prefixes(model, config)
    tags = config.data.source_language, config.data.target_language
    source, target = (
        make_tokenizer(
            model.sentencepiece[i],
            model.vocabularies[i],
            orders[i],
            prefix=prefixes[i],
            added=model.added_tokens,
            nfc=False,
            moses_language=tags[i] if punctuation == "moses" else None,
        )
        for i in (0, 1)
    )
    tokenizers = source, target
    # Checks the tensors before building a model of the configured size.
    weights = weights_of(model, config.model, orders)
    sizes = len(orders[0]), len(orders[1])
    keras_model = build_transformer(config.model, *sizes)
    _assign(keras_model, weights)
    manifest = _manifest(model, tokenizers, folder)
    manifest[IMPORTED] |= {
        "positions": positions,
        "source_prefix": prefixes[0],
        "target_prefix": prefixes[1],
        "punctuation": punctuation,
    }
    notes = {"run": manifest["id"], "epoch": 0, "scores": {}}
    with new_folder(out) as temporary:
        (temporary / "weights").mkdir()
        for side, tokenizer in zip(SIDES, tokenizers, strict=True):
            tokenizer.save(temporary / f"{side}_tokenizer")
        # Most licences require copies of these notices.
        for notice in _NOTICES:
            copy_own_files(model.folder, temporary / IMPORTED, notice)
        save_weights(
            weights_path(temporary / "weights", "best"),
            keras_model,
            notes,
        )
        write_text(temporary / "config.yaml", config.to_yaml())
        write_json(temporary / "manifest.json", manifest)
    if model.left_out:
        warnings.warn(
            f"{folder}: its search settings {', '.join(model.left_out)} have "
            "no counterpart here, and are left out",
            stacklevel=2,
        )
    return Run(out, config, manifest, tokenizers)


def _config(model, positions, languages, prefix):
    named = zip(SIDES, languages, model.languages, strict=True)
    tags = {}
    for side, given, said in named:
        if not (given or (said and is_tag(said))):  # It may name a group.
            raise InputError(
                f"{model.folder}: it doesn't say its {side} language. "
                f"Accepted: --{side}-language with a tag such as en"
            )
        tags[f"{side}_language"] = given or said
    kinds = ["sentencepiece" if p else "space" for p in model.sentencepiece]
    return Config().updated(
        {
            "model": model.config(positions),
            "data": {
                **tags,
                "source_tokenizer": kinds[0],
                "target_tokenizer": kinds[1],
                "shared_vocabulary": model.tied_embeddings == "all"
                and kinds == ["sentencepiece", "sentencepiece"],
                "simplify_chinese": False,
            },
            "decoding": model.decoding | {"source_prefix": prefix},
        },
        str(model.folder),
    )


def _prefixes(model, config):
    """Returns the language codes before source and target; "" for none."""
    given = config.decoding.source_prefix
    source, target = (
        f">>{tag}<<"
        for tag in (config.data.source_language, config.data.target_language)
    )
    return {
        "none": (given, ""),
        "both": (given or source, target),
        "target": (given or target, ""),
    }[model.language_tokens]


def _assign(model, values):
    """Assigns a model's weights; each trainable one must have values."""
    for weight in model.weights:
        if weight.path in values:
            weight.assign(values.pop(weight.path))
        elif weight.trainable:
            raise ValueError(f"no values for {weight.path}")
    if values:
        raise ValueError(f"values of no weight: {', '.join(values)}")


def _manifest(model, tokenizers, name):
    return {
        **new_manifest(IMPORTED, {}, *tokenizers),
        IMPORTED: {
            "from": os.fspath(name),
            "kind": model.kind,
            "license": _license(model.folder),
            "unread": list(model.unread),
            "left_out": list(model.left_out),
            "files": [describe_file(path) for path in model.files],
        },
    }


def _license(folder):
    """Returns the model card's licence; None if it has none."""
    card = folder / "README.md"
    if not is_own(card):
        return None
    text = read_head(card)
    parts = text.split("---")
    if not text.startswith("---") or len(parts) < 3:
        return None
    match = _LICENSE.search(parts[1])
    said = match[1].strip() if match else ""
    # Control characters are replaced, as it is shown on a terminal.
    plain = (c if c.isprintable() else "\ufffd" for c in said)
    return "".join(plain)[:_LONGEST_LICENSE] or None
