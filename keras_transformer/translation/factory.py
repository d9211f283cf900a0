"""Translator factories: picklable, so that worker processes can be sent one.

A factory is called without arguments, loads all that it needs itself, and
returns a function from a list of lines to as many results. Those for exports
are in `exporting`.
"""

import dataclasses
import json
import pathlib
from collections.abc import Callable

from keras_transformer.config import Config
from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.data.corpus import CorpusFile
from keras_transformer.errors import InputError
from keras_transformer.system.checksums import (
    checksum,
    digest,
    files_fingerprint,
)
from keras_transformer.system.files import read_yaml
from keras_transformer.system.remote import RemotePath
from keras_transformer.translation.request import (
    Translation,
    TranslationRequest,
)


@dataclasses.dataclass(frozen=True)
class RunTranslatorFactory:
    """Makes a translator of a run.

    Attributes:
        folder: the run's.
        weights: "best", "last" or "average".
        decoding: the search.
        request: what is requested beside the text.
        ensemble: folders of runs that translate together with it, by the same
            weights of theirs.
        shortlist: pairs of sentences for a shortlist, see
            `CorpusFile.parse`; None: there is none.
    """

    folder: str
    weights: str
    decoding: DecodingConfig
    request: TranslationRequest = TranslationRequest()
    ensemble: tuple[str, ...] = ()
    shortlist: str | None = None

    def __call__(self) -> Callable[[list], list[Translation]]:
        """Loads the run.

        Returns:
            a function of lines, or of pairs where prefixes are requested.

        Raises:
            InputError: it is no run, or a part is missing or damaged.
        """
        from keras_transformer.translation.details import detailed_translator
        from keras_transformer.translation.trained_run import TrainedRun

        request = self.request
        run = TrainedRun.load(self.folder).translating_by(
            self.weights, self.decoding, self.ensemble, self.shortlist
        )
        return detailed_translator(
            run.new_translator(request.alignment),
            request.count,
            request.prefixes,
            request.token_scores,
            request.alignment,
        )

    def fingerprint(self) -> str:
        """A digest of the weights and all else that it loads.

        Raises:
            InputError: one is no run, or has no such weights.
        """
        first, *others = map(self._fingerprint, (self.folder, *self.ensemble))
        if self.shortlist is not None:
            others += [
                path.describe()["sha256"]
                if isinstance(path, RemotePath)
                else checksum(path)
                for path in CorpusFile.parse(self.shortlist).paths
            ]
        if not others:
            return first
        return digest(json.dumps([first, *others]).encode())

    def _fingerprint(self, run):
        folder = pathlib.Path(run)
        path = folder / "config.yaml"
        config = Config().updated(read_yaml(path), str(path))
        weights = list(folder.glob(f"weights/{self.weights}.weights.h5"))
        if not weights:
            raise InputError(f"{folder}: no weights {self.weights!r} in it")
        tokenizers = folder.glob("*_tokenizer/**/*")
        settings = {
            "model": config.to_dict()["model"],
            "precision": config.training.precision,
        }
        return files_fingerprint(folder, [*weights, *tokenizers], settings)
