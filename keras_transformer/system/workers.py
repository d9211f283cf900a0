"""Worker processes that do tasks and return the results in order.

Python computes on one core, and TensorFlow doesn't survive a fork, so each
worker is a new interpreter. It runs this module and, unlike a worker of
`multiprocessing`, not the program's main module, so that a script needs no
`if __name__ == "__main__":`, and notebooks work, too. The workers' function is
sent as a factory, because TensorFlow objects can't be pickled.
"""

import collections
import contextlib
import itertools
import multiprocessing
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any, Self

from keras_transformer.errors import InputError
from keras_transformer.system.interpreters import (
    child_environment,
    module_command,
)

# Tasks assigned to a worker: the current one and the next one.
_PER_WORKER = 2
# Tasks per worker whose results haven't been yielded yet. More than the
# assigned ones, so that one long task doesn't make the other workers wait.
_AHEAD = 4
# Seconds that a worker has to exit before it is killed.
_END_SECONDS = 5.0

Factory = Callable[[], Callable[[Any], Any]]


class Workers:
    """A context manager of processes that do tasks.

    Entering starts all workers and waits until they are ready; leaving ends
    them, even in the middle of a task. They also end when this process dies.

    Args:
        factory: a picklable callable from a module other than `__main__`.
            It is called in each worker, and returns a function from a task to
            its result, which must be picklable, too.
        count: number of workers.
        prepare: called first in each worker, without arguments; picklable like
            the factory.
        doing: what the workers do, for messages: "translating".
        remedy: what may help if a worker runs out of memory, for messages.

    Raises:
        InputError: on entering, raised by the factory; later, a worker was
            killed or ran out of memory.
    """

    def __init__(
        self,
        factory: Factory,
        count: int,
        prepare: Callable[[], None] | None = None,
        *,
        doing: str,
        remedy: str = "Try fewer workers",
    ) -> None:
        if count < 1:
            raise InputError(f"workers must be 1 or more. Received: {count}")
        # Pickled separately, because unpickling may import TensorFlow: a worker
        # does that only after its path is set and `prepare` was called.
        self._begin = pickle.dumps(prepare), pickle.dumps(factory)
        self._count = count
        self._words = doing, remedy
        self._numbers = itertools.count()
        self._workers: list = []

    def __enter__(self) -> Self:
        try:
            with _interrupts_blocked():
                for _ in range(self._count):
                    self._workers.append(_Worker(self._words))
            for worker in self._workers:
                worker.begin(*self._begin)
            for worker in self._workers:
                worker.receive()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def process_ids(self) -> list[int]:
        """The workers' process ids."""
        return [worker.process.pid for worker in self._workers]

    def map(self, tasks: Iterable) -> Iterator:
        """Yields the result of each task, in order.

        Reads at most four tasks per worker ahead, so that memory is bounded.
        The result of an empty list is an empty list, without a worker.
        """
        tasks = iter(tasks)
        # Numbers of the tasks whose results haven't been yielded, in order.
        waiting: collections.deque = collections.deque()
        done: dict = {}
        exhausted = False
        while True:
            while len(waiting) < _AHEAD * self._count and (
                worker := self._least_busy()
            ):
                task = next(tasks, None)
                if task is None:
                    exhausted = True
                    break
                number = next(self._numbers)
                waiting.append(number)
                if task == []:
                    done[number] = []
                else:
                    worker.send(number, task)
            if exhausted and not waiting:
                return
            while waiting and waiting[0] in done:
                yield done.pop(waiting.popleft())
            if waiting or not self._least_busy():
                for number, result in self._finished():
                    # Other results belong to an earlier, unfinished iteration.
                    if waiting and number >= waiting[0]:
                        done[number] = result

    def _least_busy(self):
        """The worker with the fewest tasks, or None if all are busy."""
        worker = min(self._workers, key=lambda worker: worker.out)
        return worker if worker.out < _PER_WORKER else None

    def _finished(self):
        """Waits for results, and yields each as (number, result)."""
        connections = {worker.connection: worker for worker in self._workers}
        for connection in wait(connections):
            yield connections[connection].receive()

    def close(self) -> None:
        """Ends all workers."""
        # First all pipes, so that the workers end in parallel.
        for worker in self._workers:
            worker.connection.close()
        for worker in self._workers:
            worker.end()
        self._workers = []


class _Worker:
    """The parent's side of one worker process.

    Attributes:
        process: the process.
        connection: the pipe to it.
        out: number of tasks that were sent and aren't finished.
    """

    def __init__(self, words):
        self.connection, theirs = multiprocessing.Pipe()
        # Closed here, so that the pipe ends when the worker dies.
        with theirs:
            self.process = subprocess.Popen(
                [*module_command(__name__), str(theirs.fileno()), *words],
                env=child_environment(),
                # This process's input may be its own program.
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self.out = 0
        self._doing, self._remedy = words

    def begin(self, *pickled):
        # An empty path would be the current folder.
        self._say((list(filter(None, sys.path)), *pickled))

    def send(self, number, task):
        self.out += 1
        self._say((number, task))

    def _say(self, message):
        try:
            self.connection.send(message)
        except (BrokenPipeError, ConnectionResetError):
            # The worker's last message may be the error.
            self.receive()
            raise self._death() from None

    def receive(self):
        """Returns the worker's next message: (number, result)."""
        try:
            number, result, error = self.connection.recv()
        except (EOFError, OSError):  # Also in the middle of a message.
            raise self._death() from None
        if error is not None:
            raise error
        self.out -= number is not None
        return number, result

    def _death(self):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_END_SECONDS)
        code = self.process.returncode
        if code is not None and code < 0:
            how = f"was killed by {signal.Signals(-code).name}"
        else:
            how = f"ended with status {code}"
        return InputError(
            f"a {self._doing} worker (process {self.process.pid}) {how}; out "
            f"of memory is the usual cause. {self._remedy}"
        )

    def end(self):
        try:
            self.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def _interrupts_blocked():
    """Blocks SIGINT while workers start, as their parent ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run_worker(connection: Connection, doing: str, remedy: str) -> None:
    """Does the tasks that arrive through a pipe, until it is closed.

    The first message has `sys.path`, and `prepare` and `factory` of `Workers`,
    pickled. The answers are `(number, result, error)`: one with number None
    when the worker is ready, then one for every `(number, task)`. The worker
    ends after an error.

    Args:
        connection: the pipe.
        doing, remedy: see `Workers`.
    """
    # Ctrl-C reaches all processes of a terminal; the parent ends the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    tasks: queue.SimpleQueue = queue.SimpleQueue()
    threading.Thread(
        target=_receive, args=(connection, tasks), daemon=True
    ).start()
    number = None
    try:
        sys.path[:], prepare, factory = tasks.get()
        if (prepare := _unpickled(prepare)) is not None:
            prepare()
        work = _unpickled(factory)()
        connection.send((None, None, None))
        while True:
            number, task = tasks.get()
            connection.send((number, work(task), None))
    except BrokenPipeError:
        pass  # The parent has ended.
    except Exception as error:
        connection.send((number, None, _portable(error, doing, remedy)))
    finally:
        connection.close()


def _unpickled(pickled):
    try:
        return pickle.loads(pickled)
    except AttributeError as error:
        raise InputError(
            f"what a worker is to call can't be imported ({error}). Accepted: "
            "a function of another module than __main__"
        ) from None


def _receive(connection, tasks):
    """Queues incoming messages, so that the parent never blocks on sending.

    Ends the process when the parent has ended, even in the middle of a task.
    """
    try:
        while True:
            tasks.put(connection.recv())
    except (EOFError, OSError):
        os._exit(1)


def _portable(error, doing, remedy):
    """Converts an error to one that can be sent to the parent."""
    if isinstance(error, InputError | OSError | MemoryError):
        return error
    if type(error).__name__ == "ResourceExhaustedError":
        return InputError(f"a {doing} worker ran out of memory. {remedy}")
    text = "".join(traceback.format_exception(error))
    return RuntimeError(f"in a {doing} worker:\n{text}")


if __name__ == "__main__":
    run_worker(Connection(int(sys.argv[1])), *sys.argv[2:])
