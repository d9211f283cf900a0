"""An exported model in Python: nothing but TensorFlow and TF Text."""

import os
import pathlib
from collections.abc import Sequence

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers its operations)

from keras_transformer.errors import InputError
from keras_transformer.export import layout
from keras_transformer.export.versions import version_folders
from keras_transformer.files import read_json

_ACCEPTED = "Accepted: what `keras-transformer export` wrote"


class SavedTranslator:
    """Translates with a SavedModel.

    Args:
        path: a version folder, or the folder of versions: then the highest
            is taken, as the server does.
        signature: `serving_default` (beam search) or `greedy`.

    Attributes:
        path: the version folder.
        description: the export's self-description, a dict; empty if it has
            none.

    Raises:
        InputError: there is no SavedModel, it is damaged, or it has other
            signatures.

    Example:
        >>> translator = SavedTranslator("saved_models/demo")
        >>> translations, scores = translator.translate(["Good morning."])
    """

    def __init__(self, path: str | os.PathLike, signature: str = layout.BEAM):
        self.path = find_saved_model(path)
        try:
            # Kept: the functions don't keep the variables alive.
            self._module = tf.saved_model.load(str(self.path))
        # TensorFlow has a different error for every damage: of its own, of
        # protobuf, IndexError, KeyError...
        except Exception as error:
            text = getattr(error, "message", None) or str(error)
            reason = text.strip().splitlines()[0] if text.strip() else "unread"
            raise InputError(
                f"{self.path}: damaged SavedModel ({reason}). {_ACCEPTED}"
            ) from error
        self._function = self._signature(signature)
        description = self.path / layout.DESCRIPTION
        self.description = (
            read_json(description) if description.is_file() else {}
        )

    def _signature(self, name):
        signatures = getattr(self._module, "signatures", {})
        if name not in signatures:
            has = ", ".join(signatures) or "none"
            raise InputError(
                f"{self.path}: no signature {name!r}. It has: {has}"
            )
        function = signatures[name]
        inputs = function.structured_input_signature[1].keys()
        outputs = function.structured_outputs.keys()
        if inputs != {layout.INPUT} or not {
            layout.TRANSLATION,
            layout.SCORE,
        } <= set(outputs):
            raise InputError(
                f"{self.path}: signature {name!r} doesn't translate text. "
                f"{_ACCEPTED}"
            )
        return function

    def translate(self, texts: Sequence[str]) -> tuple[list[str], np.ndarray]:
        """Translates a batch.

        Args:
            texts: any number of sentences.

        Returns:
            as many translations, and their scores, float32 `(B,)`.
        """
        # A file read with surrogateescape holds what UTF-8 can't.
        encoded = [text.encode("utf-8", "replace") for text in texts]
        outputs = self._function(text=tf.constant(encoded, tf.string))
        translations = outputs[layout.TRANSLATION].numpy()
        return (
            [text.decode("utf-8", "replace") for text in translations],
            outputs[layout.SCORE].numpy(),
        )


def find_saved_model(path: str | os.PathLike) -> pathlib.Path:
    """The version folder that a path means.

    Raises:
        InputError: the path is none, and holds none.
    """
    path = pathlib.Path(path)
    if not path.is_dir():
        problem = "is a file" if path.exists() else "doesn't exist"
        raise InputError(f"{path} {problem}. {_ACCEPTED}")
    if (path / layout.SAVED_MODEL).is_file():
        return path
    versions = version_folders(path)
    if not versions:
        raise InputError(
            f"{path}: no SavedModel (no {layout.SAVED_MODEL}, and no version "
            f"folders such as 1). {_ACCEPTED}"
        )
    latest = versions[max(versions)]
    if not (latest / layout.SAVED_MODEL).is_file():
        raise InputError(
            f"{latest}: no SavedModel (no {layout.SAVED_MODEL}). {_ACCEPTED}"
        )
    return latest
