"""Dev scores during training: BLEU and chrF of greedy translations.

The search is TensorFlow's. A model that trains on TensorFlow is searched where
it trains; for one that trains on JAX other processes translate, by weights that
are saved for them.
"""

import contextlib
import dataclasses
import pathlib
from collections.abc import Callable, Iterable, Iterator

import keras

from keras_transformer.errors import InputError
from keras_transformer.evaluation.bleu_chrf import scores
from keras_transformer.evaluation.scoring import text_columns
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.search.from_config import needs_alignment
from keras_transformer.system.machine import usable_cores
from keras_transformer.training.run import Run
from keras_transformer.training.weights import (
    load_weights,
    remove_weights,
    save_weights,
)
from keras_transformer.translation.details import text_translator
from keras_transformer.translation.stream import stream_lines, translate_lines
from keras_transformer.translation.translator import Translator, greedy
from keras_transformer.translation.workers import Workers, use_tensorflow

# Each has a model and its graph in memory, beside the training.
_MOST_WORKERS = 4
_WEIGHTS = "dev"  # of a run: the name of those that are saved for workers


@contextlib.contextmanager
def dev_scorer(
    run: Run, pairs: Iterable[tuple[str, str]], warn: Callable[[str], None]
) -> Iterator[Callable[..., dict]]:
    """A `measure` for `training.fit`, as long as the context lasts.

    Args:
        run: the run that is being trained.
        pairs: dev sentences; held in memory.
        warn: told in a line where scores have to be left out.

    No sentence is truncated, as `train` refuses data longer than its model. A
    translation that reaches its limit counts as it is.

    Yields:
        a function of the model, `{"bleu": ..., "chrf": ...}`; `{}` where
        other processes were to translate and couldn't.
    """
    sources, references = text_columns(run, pairs)
    here = keras.backend.backend() == "tensorflow"
    translating = (_Here if here else _Workers)(run, sources)

    def measure(model):
        try:
            hypotheses = translating.translations(model)
        except InputError as error:
            warn(f"no dev BLEU this time: {error}")
            return {}
        language = run.config.data.target_language
        measured = scores(hypotheses, references, language)
        return {"bleu": measured.bleu, "chrf": measured.chrf}

    with contextlib.closing(translating):
        yield measure


class GreedyTranslator:
    """Translates lines greedily by a model whose weights change.

    Args:
        run: of the tokenizers and the search.
        model: `keras.Model` that `build_transformer` made.
    """

    def __init__(self, run: Run, model: keras.Model) -> None:
        tokenizers = run.source_tokenizer, run.target_tokenizer
        decoding = greedy(run.config.decoding)
        self._model = model
        align = needs_alignment(decoding)
        self._steps = IncrementalTransformer(model, align=align)
        self._translate = text_translator(
            Translator(*tokenizers, self._steps, decoding).translate
        )

    def refresh(self) -> None:
        """Takes over the weights that the model has now."""
        self._steps.refresh(self._model)

    def __call__(self, lines: list[str]) -> list[str]:
        """The translations of lines."""
        return self._translate(lines)


class _Here:
    """Translates dev sentences in the process that trains."""

    def __init__(self, run, sources):
        self._run = run
        self._sources = sources
        self._model = None
        self._translator: GreedyTranslator

    def translations(self, model):
        if model is not self._model:
            # Tracing the search takes longer than using it.
            self._translator = GreedyTranslator(self._run, model)
            self._model = model
        self._translator.refresh()
        size = self._run.config.decoding.batch_size
        return list(translate_lines(self._sources, self._translator, size))

    def close(self):
        pass


class _Workers:
    """Translates dev sentences in processes that compute on TensorFlow.

    They start at the first measurement, and again after one has failed.
    """

    def __init__(self, run, sources):
        self._run = run
        self._sources = sources
        self._path = run.weights_path(_WEIGHTS)
        self._running = contextlib.ExitStack()
        self._workers = None

    def translations(self, model):
        size = self._run.config.decoding.batch_size
        try:
            save_weights(self._path, model, {})
            self._workers = self._workers or self._start(size)
            translate = self._workers.translate_batches
            return list(stream_lines(self._sources, translate, size))
        except BaseException:
            self.close()
            raise
        finally:
            remove_weights(self._path)

    def _start(self, size):
        batches = -(-len(self._sources) // size)
        count = min(usable_cores(), batches, _MOST_WORKERS)
        threads = max(1, usable_cores() // count)
        factory = FileTranslatorFactory(self._run.folder, self._path)
        return self._running.enter_context(
            Workers(factory, count, threads, use_tensorflow)
        )

    def close(self):
        self._running.close()
        self._workers = None


@dataclasses.dataclass(frozen=True)
class FileTranslatorFactory:
    """Makes a greedy translator by a file of weights that is replaced.

    Attributes:
        folder: the run's.
        path: the file; read again when another has taken its place.
    """

    folder: pathlib.Path
    path: pathlib.Path

    def __call__(self) -> Callable[[list[str]], list[str]]:
        """A translator that reads the weights anew when they change."""
        run = Run.load(self.folder)
        model = run.build_model()
        translator = GreedyTranslator(run, model)
        read = None

        def translate(lines):
            nonlocal read
            status = self.path.stat()
            newest = status.st_ino, status.st_mtime_ns
            if newest != read:
                load_weights(self.path, model)
                translator.refresh()
                read = newest
            return translator(lines)

        return translate
