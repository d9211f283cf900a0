"""The files of a saved tokenizer, read with care and written whole."""

import json
import os
import tempfile

from keras_transformer.errors import InputError

FORMAT = 1


def read_description(path, kinds) -> dict:
    """A tokenizer's description.

    Args:
        path: of the JSON file.
        kinds: the kinds of tokenizers there are.

    Raises:
        InputError: it can't be read, or doesn't describe a tokenizer.
    """
    content = read(path)
    try:
        description = json.loads(content)
    except ValueError:  # not JSON, or not UTF-8
        raise InputError(
            f"{path}: damaged. Accepted: the JSON of a saved tokenizer"
        ) from None
    wanted = {
        "format": int,
        "kind": str,
        "vocabulary_size": int,
        "options": dict,
        "sha256": str,
    }
    if not isinstance(description, dict) or any(
        not isinstance(description.get(key), type_)
        for key, type_ in wanted.items()
    ):
        raise InputError(
            f"{path}: not the description of a tokenizer. "
            f"Accepted: a JSON object with {', '.join(wanted)}"
        )
    if description["format"] != FORMAT:
        raise InputError(
            f"{path}: format {description['format']}. "
            f"Accepted by this version: {FORMAT}"
        )
    if description["kind"] not in kinds:
        raise InputError(
            f"{path}: unknown kind {description['kind']!r}. "
            f"Accepted: {', '.join(kinds)}"
        )
    return description


def read(path) -> bytes:
    """The file of a tokenizer."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}. Accepted: a folder that a tokenizer "
            "was saved to"
        ) from None


def write(path, content: bytes):
    """Writes beside `path`, then renames: never a half-written file."""
    folder, name = os.path.split(path)
    handle, temporary = tempfile.mkstemp(dir=folder or ".", prefix=f".{name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
