"""Saved translator: an exported model in Python, by TensorFlow and TF Text.

They are imported with the first model, and NumPy with them, so that a process
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

    Operations have one thread each, unless
    `tf.config.threading.set_intra_op_parallelism_threads` was called. What
    uses TensorFlow first decides for the whole process.

    Args:
        path: a version folder, or the folder of versions: then the highest
            is taken, as the server does.
        signature: that `translate` uses: `serving_default` (beam search) or
            `greedy`.
        placeholders: regular expressions of markup, beside those of the data
            that the model was trained on.

    Attributes:
        path: the version folder.
        description: the export's self-description, a dict; empty if it has
            none.

    Raises:
        InputError: there is no SavedModel, it is damaged, or it has other
            signatures.

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
        # TensorFlow's own choice is all cores, and that takes twice as long:
        # most products of a step are too small to be shared out.
        threads = tf.config.threading.get_intra_op_parallelism_threads() or 1
        try:
            self._session = SavedModelSession(self.path, threads)
        # TensorFlow has a different error for every damage: of its own, of
        # protobuf, IndexError, KeyError...
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
            InputError: the export has no such signature, or gives fewer.
        """
        from keras_transformer.exporting.session import results_of

        signature = self._best if n_best is None else layout.NBEST
        return results_of(texts, self._run(signature, text=texts), n_best)

    def score(
        self, texts: Sequence[str], translations: Sequence[str]
    ) -> dict[str, np.ndarray]:
        """Log-probabilities of given translations.

        Args:
            texts: B sentences, which are one batch where they aren't split.
            translations: as many. Markup counts that both have, if the
                model has symbols for it.

        Returns:
            `log_probability` float32 `(B,)`, natural logarithms; `score`
            float32 `(B,)`, these divided by the length penalty; `tokens`
            int32 `(B,)`; `truncated` and `translation_truncated` bool
            `(B,)`, which of the two lost its end to the model's limit.

        Raises:
            InputError: the export has no such signature, or there are not as
                many translations as texts.
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
            # As `score` of a run does.
            pairs = zip(texts, translations, strict=True)
            masked = mask_pairs(pairs, self.placeholders)
            texts, translations = map(list, zip(*masked, strict=True))
        return self._run(layout.SCORING, text=texts, translation=translations)

    def _run(self, signature, **texts):
        self._require(signature)
        # A file read with surrogateescape holds what UTF-8 can't.
        inputs = {
            name: [
                text.encode("utf-8", "replace")
                for text in text_list(column, "a SavedTranslator")
            ]
            for name, column in texts.items()
        }
        return self._session.run(signature, inputs)

    def _require(self, name):
        """Refuses a signature that isn't there or has other tensors."""
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
    """Makes a translator of an export; see `translation.workers`.

    Attributes:
        folder: the export's.
        signature: "serving_default", "greedy" or "nbest".
        request: what is requested of a line; an export projects no markup.
    """

    folder: str
    signature: str = layout.BEAM
    request: TranslationRequest = TranslationRequest()

    def fingerprint(self) -> str:
        """A digest of all files of the export.

        Raises:
            InputError: there is none.
        """
        folder = find_saved_model(self.folder)
        return files_fingerprint(folder, folder.rglob("*"))

    def __call__(self) -> Callable[[list[str]], list[Translation]]:
        """The results of lines, as a function."""
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
    """The data section in an export's description.

    Args:
        description: as read of JSON.

    Returns:
        None if it isn't as this package writes it.
    """
    try:
        section = {"data": description["config"]["data"]}
        return Config().updated(section, layout.DESCRIPTION).data
    except (KeyError, TypeError, InputError):
        return None


def _description(path):
    """Self-description of an export; empty if it has none."""
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
