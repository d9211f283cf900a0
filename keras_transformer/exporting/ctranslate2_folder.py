"""Folder of an export for CTranslate2: its files, and what it can't hold.

FOLDER/
  model.bin  config.json  *_vocabulary.json   as CTranslate2 loads them
  source_tokenizer/  target_tokenizer/
  imported/               licence and model card of an imported model
  keras_transformer.json  the configuration, origin, checksums of the files
  reference.json          translations of the run, to compare with

Needs neither CTranslate2 nor TensorFlow.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib

from keras_transformer.config import Config
from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.errors import InputError, not_installed
from keras_transformer.system.checksums import is_bare_name
from keras_transformer.system.files import read_json

FORMAT = "keras_transformer.ctranslate2"
FORMAT_VERSION = 1
MODEL = "model.bin"
CTRANSLATE2_DESCRIPTION = "keras_transformer.json"
REFERENCE = "reference.json"
ACCEPTED = "Accepted: what `export --format ctranslate2` wrote"
EXPORT_AGAIN = "export it again"
# What weights are stored in, and how far a token's log-probability may be from
# the run's, in nats. bfloat16 would need PyTorch.
QUANTIZATIONS = {
    "float32": 1e-4,
    "float16": 0.02,
    "int16": 0.1,
    "int8": 0.25,
    "int8_float32": 0.25,
    "int8_float16": 0.25,
}
# What CTranslate2's search can't do, or does otherwise: the values that leave
# it out.
_LEFT_OUT = {
    "repetition_penalty": 1.0,
    "replace_unknown": False,
    "temperature": 0.0,
    "precision": "float32",
}


def require_ctranslate2() -> None:
    """Raises `InputError` if the package isn't installed."""
    if importlib.util.find_spec("ctranslate2") is None:
        raise not_installed("CTranslate2", "ctranslate2")


def require_search(decoding: DecodingConfig) -> None:
    """Refuses a search that CTranslate2 doesn't have.

    Raises:
        InputError: names the setting and what is accepted.
    """
    for name, accepted in _LEFT_OUT.items():
        received = getattr(decoding, name)
        if received != accepted:
            shown = str(accepted).lower()
            raise InputError(
                f"decoding.{name}: CTranslate2 searches without it. Received: "
                f"{received}. Accepted: decoding.{name}={shown}"
            )
    if decoding.length_penalty and decoding.length_normalization != "average":
        raise InputError(
            "decoding.length_normalization: CTranslate2 knows the average "
            f"only. Received: {decoding.length_normalization}. Accepted: "
            "decoding.length_normalization=average, or "
            "decoding.length_penalty=0"
        )


def is_export(folder: str | os.PathLike) -> bool:
    """True if a folder is such an export, whole or damaged."""
    path = pathlib.Path(folder) / CTRANSLATE2_DESCRIPTION
    if not path.is_file():
        return False
    try:
        # Exports of other formats describe themselves in a file of that name.
        return read_json(path).get("format") == FORMAT
    except InputError:
        return path.with_name(MODEL).is_file()


def read_description(folder: str | os.PathLike) -> dict:
    """Self-description of a folder.

    Raises:
        InputError: it isn't an export for CTranslate2.
    """
    path = pathlib.Path(folder) / CTRANSLATE2_DESCRIPTION
    if not path.is_file():
        raise InputError(
            f"{folder}: no {CTRANSLATE2_DESCRIPTION} in it. {ACCEPTED}"
        )
    description = read_json(path)
    kind = description.get("format"), description.get("format_version")
    if kind != (FORMAT, FORMAT_VERSION):
        raise InputError(f"{path}: not of {FORMAT}. {ACCEPTED}")
    files = description.get("files")
    described = isinstance(files, list) and all(
        isinstance(file, dict)
        and {"name", "bytes", "sha256"} <= file.keys()
        and is_bare_name(file["name"])
        for file in files
    )
    if not described or not isinstance(description.get("config"), dict):
        raise InputError(f"{path}: damaged; {EXPORT_AGAIN}")
    return description


def read_config(folder: str | os.PathLike) -> Config:
    """The run's configuration; raises as `read_description` does."""
    return Config().updated(read_description(folder)["config"], str(folder))
