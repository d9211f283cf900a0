"""Describes a folder: prepared data, a run, an export, or its versions.

example:
  keras-transformer info runs/en-zh
"""

import argparse
import json
import pathlib

import yaml

from keras_transformer.cli.console import visible
from keras_transformer.cli.options import add_json_option
from keras_transformer.errors import InputError
from keras_transformer.exporting.registry.labels import read_labels
from keras_transformer.exporting.registry.version_folders import version_folders
from keras_transformer.system.files import read_json

# The file, and a key in it, by which each kind of folder is recognised.
MARKS = {
    "prepared data": ("manifest.json", "splits"),
    "run": ("manifest.json", "tokenizers"),
    "export for CTranslate2": ("keras_transformer.json", "quantization"),
    "export for Keras": ("keras_transformer.json", "model"),
    "export": ("assets.extra/keras_transformer.json", "format"),
}
# Characters of a description to print, as YAML takes minutes for more.
_MOST_PRINTED = 1 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER")
    add_json_option(parser)


def run(arguments: argparse.Namespace) -> None:
    kind, content = describe(pathlib.Path(arguments.folder))
    # In ASCII: a file may contain lone surrogates, which JSON can express and
    # UTF-8 can't.
    text = json.dumps({"kind": kind, **content})
    if arguments.json:
        print(text)
        return
    if len(text) > _MOST_PRINTED:
        raise InputError(
            f"{arguments.folder}: {kind}, with {len(text):,} characters to "
            f"print. Accepted: up to {_MOST_PRINTED:,}, or --json"
        )
    try:
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    except RecursionError:
        raise InputError(
            f"{arguments.folder}: its description is nested too deeply. "
            "Accepted: an object of a few levels, or --json"
        ) from None
    print(visible(f"{arguments.folder}: {kind}"))
    print(visible(text, "\n"))


def describe(folder: pathlib.Path) -> tuple[str, dict]:
    """The kind of a folder, and its own description of itself.

    Raises:
        InputError: the folder is of no known kind.
    """
    for kind, (name, key) in MARKS.items():
        path = folder / name
        if path.is_file():
            content = read_json(path)
            if key in content:
                return kind, content
    if versions := version_folders(folder):
        content = {"versions": {n: _kind(p) for n, p in versions.items()}}
        if labels := read_labels(folder).versions:
            content["labels"] = labels
        return "folder of versions", content
    raise InputError(
        f"{folder}: no prepared data, run, export or folder of versions"
    )


def _kind(folder):
    try:
        return describe(folder)[0]
    except InputError:
        return "not an export"
