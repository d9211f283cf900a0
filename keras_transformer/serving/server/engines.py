"""Engines that run models, and the formats of exports they accept."""

import pathlib

from keras_transformer.contract.layout import SAVED_MODEL
from keras_transformer.errors import InputError
from keras_transformer.exporting.ctranslate2_folder import is_export

EMBEDDED = "embedded"  # TensorFlow in the server's process
CTRANSLATE2 = "ctranslate2"
ENGINES = (EMBEDDED, CTRANSLATE2)


def require_engine_for(folder: pathlib.Path, engine: str) -> None:
    """Refuses an export of another engine's format.

    A folder that isn't an export is refused later, when it is loaded.

    Args:
        folder: the version folder.
        engine: one of `ENGINES`.

    Raises:
        InputError: names the engine for the export's format.
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
