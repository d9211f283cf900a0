"""Says what a folder is: prepared data, a run, or an export.

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
from keras_transformer.files import read_json

# The file that makes a folder what it is.
MARKS = {
    "prepared data": ("manifest.json", "splits"),
    "run": ("manifest.json", "tokenizers"),
    "export for CTranslate2": ("keras_transformer.json", "quantization"),
    "export for Keras": ("keras_transformer.json", "model"),
    "export": ("assets.extra/keras_transformer.json", "format"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER")
    add_json_option(parser)


def run(arguments: argparse.Namespace) -> None:
    kind, content = describe(pathlib.Path(arguments.folder))
    if arguments.json:
        # In ASCII: a file may hold halves of characters, which JSON can say
        # and UTF-8 can't.
        print(json.dumps({"kind": kind, **content}))
        return
    try:
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True)
    except RecursionError:
        raise InputError(
            f"{arguments.folder}: what it says of itself is nested too deeply. "
            "Accepted: an object of a few levels, or --json"
        ) from None
    print(visible(f"{arguments.folder}: {kind}"))
    print(visible(text, "\n"))


def describe(folder: pathlib.Path) -> tuple[str, dict]:
    """The kind of a folder, and what it says about itself.

    Raises:
        InputError: it is none of the project's.
    """
    for kind, (name, key) in MARKS.items():
        path = folder / name
        if path.is_file():
            content = read_json(path)
            if key in content:
                return kind, content
    raise InputError(
        f"{folder}: none of {', '.join(MARKS)}. An export is named with its "
        "version, such as saved_models/demo/1"
    )
