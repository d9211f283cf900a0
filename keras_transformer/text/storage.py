"""The description of a saved tokenizer, read with care."""

from keras_transformer.errors import InputError
from keras_transformer.files import read_json_value

FORMAT = 1
ACCEPTED = "a folder that a tokenizer was saved to"


def read_description(path, kinds) -> dict:
    """A tokenizer's description.

    Args:
        path: of the JSON file.
        kinds: the kinds of tokenizers there are.

    Raises:
        InputError: it can't be read, or doesn't describe a tokenizer.
    """
    description = read_json_value(path, ACCEPTED)
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
