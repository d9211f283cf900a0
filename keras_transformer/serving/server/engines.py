"""Engines of the server: what runs a model, and which export it takes."""

import pathlib

from keras_transformer.contract.layout import SAVED_MODEL
from keras_transformer.errors import InputError
from keras_transformer.exporting.ctranslate2_folder import is_export

EMBEDDED = "embedded"  # TensorFlow in the server's process
CTRANSLATE2 = "ctranslate2"
ENGINES = (EMBEDDED, CTRANSLATE2)


def require_engine_for(folder: pathlib.Path, engine: str) -> None:
    """Refuses an export that another engine runs.

    A folder that is no export at all is refused where it is loaded.

    Args:
        folder: of one version.
        engine: one of `ENGINES`.

    Raises:
        InputError: names the engine that is accepted.
    """
    is_ctranslate2 = is_export(folder)
    if is_ctranslate2 and engine != CTRANSLATE2:
        raise InputError(
            f"{folder}: an export for CTranslate2. Accepted: --engine "
            f"{CTRANSLATE2}"
        )
    is_saved_model = (folder / SAVED_MODEL).is_file()
    if is_saved_model and not is_ctranslate2 and engine == CTRANSLATE2:
        raise InputError(
            f"{folder}: a SavedModel. Accepted: --engine {EMBEDDED}, or what "
            "`export --format ctranslate2` wrote"
        )
