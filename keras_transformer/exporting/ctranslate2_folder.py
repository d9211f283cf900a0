"""Folder of a CTranslate2 export: its files and the searches it supports.

FOLDER/
  model.bin  config.json  *_vocabulary.json   the files CTranslate2 loads
  source_tokenizer/  target_tokenizer/
  imported/               licence and model card of an imported model
  keras_transformer.json  configuration, origin and checksums of the files
  reference.json          the run's own translations, for the checks

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
# Types of stored weights, each with how far a token's log-probability may be
# from the run's, in nats. bfloat16 would need PyTorch.
QUANTIZATIONS = {
    "float32": 1e-4,
    "float16": 0.02,
    "int16": 0.1,
    "int8": 0.25,
    "int8_float32": 0.25,
    "int8_float16": 0.25,
}
# Settings that CTranslate2 lacks or implements differently, each with the value
# that turns it off.
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
    """Refuses a search that CTranslate2 doesn't support.

    Raises:
        InputError: names the setting and the accepted value.
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
    """True if a folder is a CTranslate2 export, even a damaged one."""
    path = pathlib.Path(folder) / CTRANSLATE2_DESCRIPTION
    if not path.is_file():
        return False
    try:
        # Exports of other formats have a description of the same name.
        return read_json(path).get("format") == FORMAT
    except InputError:
        return path.with_name(MODEL).is_file()


def read_description(folder: str | os.PathLike) -> dict:
    """Returns the description in an export's `keras_transformer.json`.

    Raises:
        InputError: the folder isn't a CTranslate2 export, or is damaged.
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
    """Returns the run's configuration; raises as `read_description` does."""
    return Config().updated(read_description(folder)["config"], str(folder))
