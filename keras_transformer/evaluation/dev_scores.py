"""Dev scores during training: BLEU and chrF of greedy translations.

The search needs TensorFlow. A model that trains on TensorFlow translates in the
training process; for one that trains on JAX, other processes translate, with
weights that are saved for them.
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
from keras_transformer.system.machine import usable_cores
from keras_transformer.training.run import Run
from keras_transformer.training.weights import (
    check_weights,
    load_weights,
    remove_weights,
    save_weights,
)
from keras_transformer.translation.details import detailed_translator
from keras_transformer.translation.stream import one_by_one, stream_lines
from keras_transformer.translation.translator import Translator, greedy
from keras_transformer.translation.workers import (
    translation_workers,
    use_tensorflow,
)

# Each worker has a model and its graph in memory, in addition to the training.
_MOST_WORKERS = 4
_WEIGHTS = "dev"  # name of the weights that are saved for workers


@contextlib.contextmanager
def dev_scorer(
    run: Run, pairs: Iterable[tuple[str, str]], warn: Callable[[str], None]
) -> Iterator[Callable[..., dict]]:
    """A context manager for the `measure` of `training.fit`.

    Args:
        run: the run that is being trained.
        pairs: dev sentences; held in memory.
        warn: called with a line if scores have to be left out.

    No sentence is truncated, as `train` refuses data longer than its model. A
    translation that reaches its limit is scored as it is.

    Yields:
        a function from the model to `{"bleu": ..., "chrf": ...}`, or to `{}`
        if workers couldn't translate.
    """
    sources, references = text_columns(run, pairs)
    here = keras.backend.backend() == "tensorflow"
    with (_here if here else _by_workers)(run, sources) as translate:

        def measure(model):
            try:
                hypotheses = translate(model)
            except InputError as error:
                warn(f"no dev BLEU this time: {error}")
                return {}
            language = run.config.data.target_language
            found = scores(hypotheses, references, language)
            return {"bleu": found.bleu, "chrf": found.chrf}

        yield measure


class GreedyTranslator:
    """Translates lines greedily with a model whose weights change.

    Args:
        run: has the tokenizers and the search.
        model: a `keras.Model` of `build_transformer`.

    Attributes:
        model: the same.
    """

    def __init__(self, run: Run, model: keras.Model) -> None:
        tokenizers = run.source_tokenizer, run.target_tokenizer
        decoding = greedy(run.config.decoding)
        self.model = model
        self._steps = IncrementalTransformer(
            model, align=decoding.replace_unknown
        )
        translator = Translator(
            *tokenizers,
            self._steps,
            decoding,
            placeholders=run.config.data.markup_patterns,
        )
        self._translate = detailed_translator(translator)

    def refresh(self) -> None:
        """Takes over the current weights of the model."""
        self._steps.refresh(self.model)

    def __call__(self, lines: list[str]) -> list[str]:
        """The translations of lines."""
        return [one.hypotheses[0].text for one in self._translate(lines)]


@contextlib.contextmanager
def _here(run, sources):
    """Yields a function that translates in the training process."""
    translator = None

    def translate(model):
        nonlocal translator
        # Tracing the search takes longer than using it.
        if translator is None or translator.model is not model:
            translator = GreedyTranslator(run, model)
        translator.refresh()
        size = run.config.decoding.batch_size
        return list(stream_lines(sources, one_by_one(translator), size))

    yield translate


@contextlib.contextmanager
def _by_workers(run, sources):
    """Yields a function that translates in workers, on TensorFlow.

    Workers start at the first measurement, and again after a failure.
    """
    path = run.weights_path(_WEIGHTS)
    size = run.config.decoding.batch_size
    running = contextlib.ExitStack()
    workers = None

    def start():
        batches = -(-len(sources) // size)
        count = min(usable_cores(), batches, _MOST_WORKERS)
        threads = max(1, usable_cores() // count)
        factory = FileTranslatorFactory(run.folder, path)
        return translation_workers(factory, count, threads, use_tensorflow)

    def translate(model):
        nonlocal workers
        try:
            save_weights(path, model, {})
            workers = workers or running.enter_context(start())
            return list(stream_lines(sources, workers.map, size))
        except BaseException:
            running.close()
            workers = None
            raise
        finally:
            remove_weights(path)

    with running:
        yield translate


@dataclasses.dataclass(frozen=True)
class FileTranslatorFactory:
    """Makes a greedy translator that reads weights from a changing file.

    Attributes:
        folder: the run's.
        path: of the file, which is read again after it was replaced.
    """

    folder: pathlib.Path
    path: pathlib.Path

    def __call__(self) -> Callable[[list[str]], list[str]]:
        """A translator that reads the weights again when they change."""
        run = Run.load(self.folder)
        model = run.build_model()
        translator = GreedyTranslator(run, model)
        read = None

        def translate(lines):
            nonlocal read
            status = self.path.stat()
            newest = status.st_ino, status.st_mtime_ns
            if newest != read:
                check_weights(self.path)
                load_weights(self.path, model)
                translator.refresh()
                read = newest
            return translator(lines)

        return translate
