"""Worker processes that translate batches.

Two threads inside one small matrix product are slower than one, so each core
gets a process of its own with one thread.
"""

import contextlib
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence

from keras_transformer.errors import InputError
from keras_transformer.system import workers
from keras_transformer.system.machine import has_gpu, set_threads, usable_cores
from keras_transformer.translation.stream import TranslateBatches, one_by_one

# Fewer batches than this aren't worth the start of workers.
_WORTH_WORKERS = 2

TranslatorFactory = Callable[[], Callable[[list[str]], Sequence]]


def choose_workers(
    requested: int | None, sentences: int, batch_size: int
) -> int:
    """How many processes are to translate; 1: the one that asks.

    Args:
        requested: what the user says; None: as many as are worth it.
        sentences: that are to be translated, at least.
        batch_size: sentences translated together.
    """
    if requested is not None:
        return requested
    batches = -(-sentences // batch_size)
    if batches < _WORTH_WORKERS or has_gpu():
        return 1
    return min(usable_cores(), batches)


class Workers(workers.Workers):
    """Processes that translate batches. A context manager.

    Args:
        factory: a callable that can be pickled. Called in each worker, it
            returns a function from a list of lines to as many results, which
            can be pickled too.
        count: how many.
        threads: that TensorFlow uses in each.
        prepare: called first in each worker, without arguments; anything
            that can be pickled by its name.

    Raises:
        InputError: on entering, the factory's; later, a worker was killed or
            ran out of memory.

    Example:
        >>> with Workers(factory, count=2) as workers:
        ...     for translation in stream_lines(
        ...         file, workers.translate_batches
        ...     ):
        ...         print(translation)
    """

    def __init__(
        self,
        factory: TranslatorFactory,
        count: int,
        threads: int = 1,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        if threads < 1:
            raise InputError(f"threads must be 1 or more. Received: {threads}")
        super().__init__(
            factory,
            count,
            functools.partial(_set_up, prepare, threads),
            doing="translating",
            remedy="Try fewer workers or a smaller batch size",
        )

    def translate_batches(
        self, batches: Iterable[list[str]]
    ) -> Iterator[Sequence]:
        """Yields the results of each batch in order. For `stream_lines`.

        Reads at most four batches a worker ahead, so that memory is bounded.
        """
        return self.map(batches)


@contextlib.contextmanager
def open_translator(
    factory: TranslatorFactory,
    workers: int,
    threads: int = 1,
    prepare: Callable[[], None] | None = None,
) -> Iterator[TranslateBatches]:
    """What translates batches: this process, or others until the end.

    Args:
        factory, threads, prepare: see `Workers`.
        workers: see `choose_workers`.
    """
    if workers == 1:
        _set_up(prepare, threads)
        yield one_by_one(factory())
    else:
        with Workers(factory, workers, threads, prepare) as pool:
            yield pool.translate_batches


def _set_up(prepare, threads):
    if prepare is not None:
        prepare()
    set_threads(threads)


def use_tensorflow() -> None:
    """Has a new process compute on TensorFlow, and on the processor.

    To be called before Keras is imported; as `prepare` of `Workers` where
    another backend has the accelerator.
    """
    os.environ["KERAS_BACKEND"] = "tensorflow"
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
