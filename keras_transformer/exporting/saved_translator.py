"""Translation with a SavedModel in Python, with TensorFlow and TF Text.

They and NumPy are imported when the first model is loaded, so that a process
whose workers translate starts without them.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from keras_transformer.config import Config
from keras_transformer.config.data import DataConfig
from keras_transformer.contract import layout
from keras_transformer.data.masking import mask_pairs
from keras_transformer.errors import InputError, shown
from keras_transformer.exporting.registry.version_folders import (
    ACCEPTED_MODEL,
    find_saved_model,
)
from keras_transformer.system.checksums import files_fingerprint
from keras_transformer.system.files import read_json
from keras_transformer.translation.request import (
    KEEP,
    Translation,
    TranslationRequest,
)
from keras_transformer.translation.stream import all_patterns
from keras_transformer.translation.texts import TextTranslator, text_list

if TYPE_CHECKING:
    import numpy as np


class SavedTranslator(TextTranslator):
    """Translates with a SavedModel.

    Each operation uses one thread, unless
    `tf.config.threading.set_intra_op_parallelism_threads` was called. The first
    use of TensorFlow fixes the number for the whole process.

    Args:
        path: a version folder, or a model's folder: then its highest version
            is loaded, as the server does.
        signature: the signature that `translate` uses: `serving_default` (beam
            search) or `greedy`.
        placeholders: regular expressions of markup, in addition to those of
            the data that the model was trained on.

    Attributes:
        path: the version folder.
        description: the export's description, a dict; empty if it has none.

    Raises:
        InputError: there is no SavedModel, it is damaged, or its signatures
            don't match.

    Example:
        >>> translator = SavedTranslator("saved_models/demo")
        >>> translator.translate(["Good morning."], n_best=2)
        [['早上好。', '早安。']]
    """

    def __init__(
        self,
        path: str | os.PathLike,
        signature: str = layout.BEAM,
        placeholders: tuple[str, ...] = (),
    ) -> None:
        import tensorflow as tf

        from keras_transformer.exporting.session import SavedModelSession

        self.path = find_saved_model(path)
        self.description = _description(self.path / layout.DESCRIPTION)
        # TensorFlow's default, all cores, takes twice as long: most matrix
        # products of a step are too small to be parallelized.
        threads = tf.config.threading.get_intra_op_parallelism_threads() or 1
        try:
            self._session = SavedModelSession(self.path, threads)
        # Each kind of damage raises a different error: TensorFlow's own,
        # protobuf's, IndexError, KeyError...
        except Exception as error:
            text = getattr(error, "message", None) or str(error)
            reason = text.strip().splitlines()[0] if text.strip() else "unread"
            raise InputError(
                f"{self.path}: damaged SavedModel ({reason}). {ACCEPTED_MODEL}"
            ) from error
        self._best = signature
        self._require(signature)
        data = self.data()
        if data is not None and data.symbols:
            self.placeholders = all_patterns(data, placeholders)

    def __repr__(self) -> str:
        return f"SavedTranslator({str(self.path)!r})"

    def data(self) -> DataConfig | None:
        """See `TextTranslator.data`."""
        return data_of(self.description)

    def plain_results(
        self, texts: Sequence[str], n_best: int | None = None
    ) -> list[Translation]:
        """See `TextTranslator.plain_results`.

        Raises:
            InputError: the export has no such signature, or its beam is
                smaller than `n_best`.
        """
        from keras_transformer.exporting.session import results_of

        signature = self._best if n_best is None else layout.NBEST
        return results_of(texts, self._run(signature, text=texts), n_best)

    def score(
        self, texts: Sequence[str], translations: Sequence[str]
    ) -> dict[str, np.ndarray]:
        """Computes log-probabilities of given translations.

        Args:
            texts: B texts; if the export doesn't split them into sentences,
                they are computed as one batch.
            translations: B translations. If the model has symbols for markup,
                markup that is in both texts is replaced with them.

        Returns:
            `log_probability` float32 `(B,)`, natural logarithms; `score`
            float32 `(B,)`, these divided by the length penalty; `tokens`
            int32 `(B,)`; `truncated` and `translation_truncated` bool
            `(B,)`, whether the text or the translation was longer than the
            model's limit.

        Raises:
            InputError: the export has no such signature, or the numbers of
                texts and translations differ.
        """
        texts, translations = (
            text_list(column, "a SavedTranslator")
            for column in (texts, translations)
        )
        if len(texts) != len(translations):
            raise InputError(
                "score takes one translation for each text. Received: "
                f"{len(texts)} texts, {len(translations)} translations"
            )
        if texts and self.placeholders is not None:
            # As in `score` of a run.
            pairs = zip(texts, translations, strict=True)
            masked = mask_pairs(pairs, self.placeholders)
            texts, translations = map(list, zip(*masked, strict=True))
        return self._run(layout.SCORING, text=texts, translation=translations)

    def _run(self, signature, **texts):
        self._require(signature)
        # Files read with surrogateescape have surrogates, which UTF-8 can't
        # encode.
        inputs = {
            name: [
                text.encode("utf-8", "replace")
                for text in text_list(column, "a SavedTranslator")
            ]
            for name, column in texts.items()
        }
        return self._session.run(signature, inputs)

    def _require(self, name):
        """Refuses a signature that is missing or has unexpected tensors."""
        signatures = {
            key: signature
            for key, signature in self._session.signatures.items()
            if signature.method_name
        }
        if name not in signatures:
            has = ", ".join(sorted(signatures)) or "none"
            raise InputError(
                f"{self.path}: no signature {name!r}. It has: {has}"
            )
        expected = layout.SIGNATURES.get(name, layout.SIGNATURES[layout.BEAM])
        inputs, outputs = signatures[name].inputs, signatures[name].outputs
        if set(inputs) != set(expected.inputs) or not (
            expected.outputs.keys() <= set(outputs)
        ):
            raise InputError(
                f"{self.path}: signature {name!r} doesn't translate text. "
                f"{ACCEPTED_MODEL}"
            )


@dataclasses.dataclass(frozen=True)
class SavedTranslatorFactory:
    """Creates a translator from an export; see `translation.workers`.

    Attributes:
        folder: the export's folder.
        signature: "serving_default", "greedy" or "nbest".
        request: the outputs requested for each line; an export can't project
            markup.
    """

    folder: str
    signature: str = layout.BEAM
    request: TranslationRequest = TranslationRequest()

    def fingerprint(self) -> str:
        """Returns a digest of all files of the export.

        Raises:
            InputError: there is no export.
        """
        folder = find_saved_model(self.folder)
        return files_fingerprint(folder, folder.rglob("*"))

    def __call__(self) -> Callable[[list[str]], list[Translation]]:
        """Returns a function that translates lines."""
        nbest = self.signature == layout.NBEST
        translator = SavedTranslator(
            self.folder,
            layout.BEAM if nbest else self.signature,
            self.request.placeholders,
        )
        if self.request.markup == KEEP:
            translator.placeholders = None
        count = self.request.count if nbest else None
        return lambda lines: translator.results(lines, count)

    def data(self) -> DataConfig | None:
        """See `TextTranslator.data`."""
        folder = find_saved_model(self.folder)
        return data_of(_description(folder / layout.DESCRIPTION))


def data_of(description: dict) -> DataConfig | None:
    """Returns the data section of an export's description.

    Args:
        description: the parsed JSON.

    Returns:
        the section; None if it is missing or invalid.
    """
    try:
        section = {"data": description["config"]["data"]}
        return Config().updated(section, layout.DESCRIPTION).data
    except (KeyError, TypeError, InputError):
        return None


def _description(path):
    """Reads the description of an export; empty if it has none."""
    if not path.is_file():
        return {}
    description = read_json(path)
    version = description.get("format_version")
    if version != layout.FORMAT_VERSION:
        raise InputError(
            f"{path}: format version {shown(version, 60)}. Accepted: "
            f"{layout.FORMAT_VERSION}, as `keras-transformer export` writes it"
        )
    return description
