"""Download of a model's files from Hugging Face's hub."""

import os
import pathlib
import re

from keras_transformer.errors import InputError

_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*", re.ASCII)
# Files that the importers read, without weights of other frameworks.
_FILES = (
    *("*.json", "*.md", "*.model", "*.spm", "*.txt", "LICENSE*"),
    *("model*.safetensors", "pytorch_model*.bin"),
    "tokenization_small100.py",  # Never run: its presence identifies the model.
)


def model_folder(model: str | os.PathLike) -> pathlib.Path:
    """Returns the folder of a model's files; downloads it if given a name.

    Args:
        model: a folder, or a name on the hub such as
            `Helsinki-NLP/opus-mt-en-de`, which needs huggingface_hub.

    Raises:
        InputError: there is no such folder, or the download fails.
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
    # Errors of its HTTP library, of unknown names and of restricted files.
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputError(
            f"{model}: no such folder, and not downloaded ({reason}). "
            f"{accepted}"
        ) from None
