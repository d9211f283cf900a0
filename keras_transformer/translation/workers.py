"""Worker processes that translate batches.

A small matrix product is slower on two threads than on one, so each core gets
a process of its own with one thread.
"""

import contextlib
import dataclasses
import functools
import json
import os
import pathlib
from collections.abc import Callable, Iterator, Sequence

from keras_transformer.config import Config
from keras_transformer.config.data import DataConfig
from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.data.corpus import CorpusFile
from keras_transformer.errors import InputError
from keras_transformer.system.checksums import (
    checksum,
    digest,
    files_fingerprint,
)
from keras_transformer.system.machine import has_gpu, set_threads, usable_cores
from keras_transformer.system.remote import RemotePath
from keras_transformer.system.workers import Workers
from keras_transformer.translation.request import (
    PROJECT,
    Translation,
    TranslationRequest,
)
from keras_transformer.translation.stream import TranslateBatches, one_by_one

# Fewer batches than this aren't worth starting workers for.
_WORTH_WORKERS = 2

# A picklable callable without arguments, which loads everything that it needs
# and returns a function from a list of lines to their results.
TranslatorFactory = Callable[[], Callable[[list[str]], Sequence]]


@dataclasses.dataclass(frozen=True)
class RunTranslatorFactory:
    """Makes the translator of a run.

    Attributes:
        folder: the run's.
        weights: "best", "last" or "average".
        decoding: the search.
        request: outputs in addition to the text.
        ensemble: folders of runs that translate together with it, with the
            same choice of weights.
        shortlist: pairs of sentences for a shortlist, see
            `CorpusFile.parse`; None: no shortlist.
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
            InputError: the folder isn't a run, or a part is missing or
                damaged.
        """
        from keras_transformer.translation.trained_run import TrainedRun

        request = self.request
        run = TrainedRun.load(self.folder).translating_by(
            self.weights, self.decoding, self.ensemble, self.shortlist
        )
        run.placeholders = request.placeholders
        aligns = request.alignment or request.markup == PROJECT
        return run.function_of(run.new_translator(aligns), request)

    def data(self) -> DataConfig:
        """See `TextTranslator.data`."""
        return Config.read(self.folder).data

    def fingerprint(self) -> str:
        """A digest of the weights and everything else that it loads.

        Raises:
            InputError: a folder isn't a run, or has no such weights.
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
        config = Config.read(folder)
        weights = list(folder.glob(f"weights/{self.weights}.weights.h5"))
        if not weights:
            raise InputError(f"{folder}: no weights {self.weights!r} in it")
        tokenizers = folder.glob("*_tokenizer/**/*")
        settings = {
            "model": config.to_dict()["model"],
            "precision": config.training.precision,
        }
        return files_fingerprint(folder, [*weights, *tokenizers], settings)


def choose_workers(
    requested: int | None, sentences: int, batch_size: int
) -> int:
    """The number of processes that translate; 1: the calling process.

    Args:
        requested: the user's choice; None: as many as are worth it.
        sentences: number of sentences to translate, at least.
        batch_size: sentences translated together.
    """
    if requested is not None:
        return requested
    batches = -(-sentences // batch_size)
    if batches < _WORTH_WORKERS or has_gpu():
        return 1
    return min(usable_cores(), batches)


def translation_workers(
    factory: TranslatorFactory,
    count: int,
    threads: int = 1,
    prepare: Callable[[], None] | None = None,
) -> Workers:
    """Processes that translate batches; pass `map` to `stream_lines`.

    Args:
        factory: a callable that can be pickled. Called in each worker, it
            returns a function from a list of lines to their results, which
            can be pickled, too.
        count: number of processes.
        threads: that TensorFlow uses in each.
        prepare: called first in each worker, without arguments; has to be
            picklable by its name.

    Example:
        >>> with translation_workers(factory, count=2) as workers:
        ...     for translation in stream_lines(file, workers.map):
        ...         print(translation)
    """
    if threads < 1:
        raise InputError(f"threads must be 1 or more. Received: {threads}")
    return Workers(
        factory,
        count,
        functools.partial(_set_up, prepare, threads),
        doing="translating",
        remedy="Try fewer workers or a smaller batch size",
    )


@contextlib.contextmanager
def open_translator(
    factory: TranslatorFactory,
    workers: int,
    threads: int = 1,
    prepare: Callable[[], None] | None = None,
) -> Iterator[TranslateBatches]:
    """Yields a function that translates batches, here or in workers.

    Args:
        factory, threads, prepare: see `translation_workers`.
        workers: see `choose_workers`.
    """
    if workers == 1:
        _set_up(prepare, threads)
        yield one_by_one(factory())
    else:
        with translation_workers(factory, workers, threads, prepare) as pool:
            yield pool.map


def _set_up(prepare, threads):
    if prepare is not None:
        prepare()
    set_threads(threads)


def use_tensorflow() -> None:
    """Makes a new process use TensorFlow, on the CPU.

    Call it before Keras is imported; as `prepare` of workers if another backend
    uses the accelerator.
    """
    os.environ["KERAS_BACKEND"] = "tensorflow"
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
