"""Worker processes that translate batches, whose results come in order.

Two threads inside one small matrix product are slower than one, so each core
gets a process of its own with one thread. A factory, not a model, is sent to
the workers: TensorFlow doesn't survive a fork, and its objects can't be
pickled.
"""

import collections
import contextlib
import itertools
import multiprocessing
import os
import pickle
import queue
import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from multiprocessing.connection import wait

from keras_transformer.errors import InputError
from keras_transformer.machine import has_gpu, usable_cores

# Batches that a worker holds: one that it translates and the next one.
_PER_WORKER = 2
# Batches handed out for each worker whose results weren't yielded yet. More
# than it holds, so that one long batch doesn't make the others wait.
_AHEAD = 4
# Seconds that a worker has to end by itself.
_END_SECONDS = 5.0
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


class Workers:
    """Processes that translate batches. A context manager.

    Entering starts them all and waits until they are ready; leaving ends
    them, whatever they are doing. They end, too, when this process dies.

    Args:
        factory: a callable that can be pickled. Called in each worker, it
            returns a function from a list of lines to as many results, which
            can be pickled too. What that function has spent on compiling, in
            seconds, may be its attribute `compile_seconds`.
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
    ):
        if count < 1:
            raise InputError(f"workers must be 1 or more. Received: {count}")
        if threads < 1:
            raise InputError(f"threads must be 1 or more. Received: {threads}")
        # As bytes, because to unpickle a factory may import TensorFlow, and
        # that is for the worker to do when all is set.
        self._factory = pickle.dumps(factory)
        self._count = count
        self._threads = threads
        self._prepare = prepare
        self._numbers = itertools.count()
        self._workers = []

    def __enter__(self) -> "Workers":
        try:
            with _interrupts_blocked():
                for _ in range(self._count):
                    self._workers.append(
                        _Worker(self._factory, self._threads, self._prepare)
                    )
            for worker in self._workers:
                worker.receive()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def process_ids(self) -> list[int]:
        """The workers' process ids."""
        return [worker.process.pid for worker in self._workers]

    @property
    def compile_seconds(self) -> float:
        """What all workers together have spent on compiling, in seconds."""
        return sum(worker.compile_seconds for worker in self._workers)

    def translate_batches(
        self, batches: Iterable[list[str]]
    ) -> Iterator[Sequence]:
        """Yields the results of each batch in order. For `stream_lines`.

        Reads at most four batches a worker ahead, so that memory is bounded.
        """
        batches = iter(batches)
        waiting = collections.deque()  # numbers of the batches out, in order
        done = {}
        exhausted = False
        while True:
            while len(waiting) < _AHEAD * self._count and (
                worker := self._least_busy()
            ):
                batch = next(batches, None)
                if batch is None:
                    exhausted = True
                    break
                number = next(self._numbers)
                waiting.append(number)
                if batch:
                    worker.send(number, batch)
                else:
                    done[number] = []
            if exhausted and not waiting:
                return
            while waiting and waiting[0] in done:
                yield done.pop(waiting.popleft())
            if waiting or not self._least_busy():
                for number, results in self._finished():
                    # Others belong to a stream that was left early.
                    if waiting and number >= waiting[0]:
                        done[number] = results

    def _least_busy(self):
        """The worker with the least to do, None if all have enough."""
        worker = min(self._workers, key=lambda worker: worker.out)
        return worker if worker.out < _PER_WORKER else None

    def _finished(self):
        """Waits, and yields (number, results) of what has come back."""
        connections = {worker.connection: worker for worker in self._workers}
        for connection in wait(connections):
            yield connections[connection].receive()

    def close(self):
        """Ends all workers."""
        # All are told before any is waited for.
        for worker in self._workers:
            worker.connection.close()
        for worker in self._workers:
            worker.end()
        self._workers = []


class _Worker:
    """One process, as its parent sees it.

    Attributes:
        process: the process.
        connection: the pipe to it.
        out: batches sent and not come back.
        compile_seconds: what it has spent on compiling.
    """

    def __init__(self, factory, threads, prepare):
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process = context.Process(
            target=run_worker,
            args=(theirs, factory, threads, prepare),
            name="keras-transformer worker",
            daemon=True,
        )
        self.process.start()
        # Held by the worker alone, the pipe tells of its death.
        theirs.close()
        self.out = 0
        self.compile_seconds = 0.0

    def send(self, number, batch):
        self.out += 1
        try:
            self.connection.send((number, batch))
        except (BrokenPipeError, ConnectionResetError):
            # What it said last may tell why it ended.
            self.receive()
            raise self._death() from None

    def receive(self):
        """What it says next: (number, results)."""
        try:
            number, results, error, compile_seconds = self.connection.recv()
        except (EOFError, ConnectionResetError):
            raise self._death() from None
        if error is not None:
            raise error
        self.out -= number is not None
        self.compile_seconds = compile_seconds
        return number, results

    def _death(self):
        self.process.join(_END_SECONDS)
        code = self.process.exitcode
        if code is not None and code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
        else:
            how = f"ended with status {code}"
        return InputError(
            f"a translating worker (process {self.process.pid}) {how}; out of "
            "memory is the usual cause. Try fewer workers or a smaller batch "
            "size"
        )

    def end(self):
        self.process.join(_END_SECONDS)
        if self.process.exitcode is None:
            self.process.kill()
            self.process.join()
        self.process.close()


@contextlib.contextmanager
def _interrupts_blocked():
    """Starts processes with SIGINT blocked: their parent ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run_worker(connection, factory: bytes, threads: int, prepare=None):
    """Translates what comes through a pipe until its other end is closed.

    Says `(number, results, error, compile_seconds)`: once with number None
    when it is ready, then for every `(number, batch)`. After an error it
    ends.

    Args:
        connection: `multiprocessing.connection.Connection`.
        factory: see `Workers`, pickled.
        threads: that TensorFlow may use.
        prepare: called first, without arguments.
    """
    # Ctrl-C goes to the whole terminal; the parent decides what ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    batches = queue.SimpleQueue()
    threading.Thread(
        target=_receive, args=(connection, batches), daemon=True
    ).start()
    number = None
    try:
        if prepare is not None:
            prepare()
        set_threads(threads)
        translate = pickle.loads(factory)()
        connection.send((None, None, None, 0.0))
        while True:
            number, batch = batches.get()
            results = translate(batch)
            seconds = getattr(translate, "compile_seconds", 0.0)
            connection.send((number, results, None, seconds))
    except BrokenPipeError:
        pass  # The parent has gone.
    except Exception as error:
        connection.send((number, None, _portable(error), 0.0))
    finally:
        connection.close()


def set_threads(threads: int):
    """Lets TensorFlow use so many threads, if it isn't at work already."""
    import tensorflow as tf

    try:
        tf.config.threading.set_inter_op_parallelism_threads(1)
        tf.config.threading.set_intra_op_parallelism_threads(threads)
    except RuntimeError:
        pass  # Threads can't be changed once TensorFlow has begun.


def _receive(connection, batches):
    """Takes in what comes, so that the parent never waits to send.

    Ends the process when the parent has gone, even in the midst of a batch.
    """
    try:
        while True:
            batches.put(connection.recv())
    except (EOFError, OSError):
        os._exit(1)


def _portable(error):
    """The error as one that the parent can raise."""
    if isinstance(error, InputError | OSError | MemoryError):
        return error
    if type(error).__name__ == "ResourceExhaustedError":
        return InputError(
            "a translating worker ran out of memory. Try fewer workers or a "
            "smaller batch size"
        )
    text = "".join(traceback.format_exception(error))
    return RuntimeError(f"in a translating worker:\n{text}")
