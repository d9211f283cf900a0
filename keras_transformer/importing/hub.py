"""Hugging Face's hub: a model's files by its name, where there is a network."""

import os
import pathlib
import re

from keras_transformer.errors import InputError

_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)
# What an importer reads; a repository has the weights of other frameworks, too.
_FILES = (
    *("*.json", "*.md", "*.model", "*.spm", "*.txt", "LICENSE*"),
    *("model*.safetensors", "pytorch_model*.bin"),
    "tokenization_small100.py",  # Never run: that it is there tells the model.
)


def model_folder(model: str | os.PathLike) -> pathlib.Path:
    """The folder of a model's files, downloaded where a name is given.

    Args:
        model: a folder, or a name on the hub such as
            `Helsinki-NLP/opus-mt-en-de`, which needs huggingface_hub.

    Raises:
        InputError: there is no such folder, or the hub can't be asked.
    """
    folder, name = pathlib.Path(model), os.fspath(model)
    if folder.is_dir():
        return folder
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{model}: no such folder. Accepted: a model's folder on this "
            "machine, or a name such as Helsinki-NLP/opus-mt-en-de"
        )
    accepted = (
        f"Accepted: the folder that `hf download {name} --local-dir "
        f"{folder.name}` makes on a machine with a network"
    )
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise InputError(
            f"{model}: no such folder, and without huggingface_hub no name. "
            f"{accepted}, or pip install huggingface_hub"
        ) from None
    try:
        return pathlib.Path(snapshot_download(name, allow_patterns=_FILES))
    # Those of its HTTP library, of a wrong name, of files it doesn't give.
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputError(
            f"{model}: no such folder, and not downloaded ({reason}). "
            f"{accepted}"
        ) from None
