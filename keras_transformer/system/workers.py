"""Worker processes that do tasks, whose results come in order.

Python computes on one core, and TensorFlow doesn't survive a fork: each process
is an interpreter of its own. It runs this module and not the program's main
one, as `multiprocessing` has it, so that a script needs no
`if __name__ == "__main__":`, and a notebook works as well. What workers are to
do is sent as a factory, because objects of TensorFlow can't be pickled.
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

# Tasks that a worker holds: one that it does and the next one.
_PER_WORKER = 2
# Tasks handed out for each worker whose results weren't yielded yet. More than
# it holds, so that one long task doesn't make the others wait.
_AHEAD = 4
# Seconds that a worker has to end by itself.
_END_SECONDS = 5.0

Factory = Callable[[], Callable[[Any], Any]]


class Workers:
    """Processes that do tasks. A context manager.

    Entering starts them all and waits until they are ready; leaving ends
    them, whatever they are doing. They end, too, when this process dies.

    Args:
        factory: a callable that can be pickled, of a module other than
            `__main__`. Called in each worker, it returns a function from a
            task to its result, which both can be pickled too.
        count: how many.
        prepare: called first in each worker, without arguments; anything
            that can be pickled by its name, as the factory.
        doing: what they do, for messages: "translating".
        remedy: what may help when one runs out of memory, for messages.

    Raises:
        InputError: on entering, the factory's; later, a worker was killed or
            ran out of memory.
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
        # The factory as bytes, because to unpickle it may import TensorFlow,
        # and that is for the worker to do when all is set.
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

        Reads at most four tasks a worker ahead, so that memory is bounded. An
        empty list of things to do has an empty list of results.
        """
        tasks = iter(tasks)
        # Numbers of the tasks out, in order.
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
                    # Others belong to a stream that was left early.
                    if waiting and number >= waiting[0]:
                        done[number] = result

    def _least_busy(self):
        """The worker with the least to do, None if all have enough."""
        worker = min(self._workers, key=lambda worker: worker.out)
        return worker if worker.out < _PER_WORKER else None

    def _finished(self):
        """Waits, and yields (number, result) of what has come back."""
        connections = {worker.connection: worker for worker in self._workers}
        for connection in wait(connections):
            yield connections[connection].receive()

    def close(self) -> None:
        """Ends all workers."""
        # All pipes are closed before any process is waited for.
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
        out: tasks sent and not come back.
    """

    def __init__(self, words):
        self.connection, theirs = multiprocessing.Pipe()
        # Held by the worker alone, the pipe tells of its death.
        with theirs:
            self.process = subprocess.Popen(
                [*module_command(__name__), str(theirs.fileno()), *words],
                env=child_environment(),
                # What this process reads may be its own program.
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self.out = 0
        self._doing, self._remedy = words

    def begin(self, *pickled):
        # An empty path is the current folder.
        self._say((list(filter(None, sys.path)), *pickled))

    def send(self, number, task):
        self.out += 1
        self._say((number, task))

    def _say(self, message):
        try:
            self.connection.send(message)
        except (BrokenPipeError, ConnectionResetError):
            # Its last message may give the reason.
            self.receive()
            raise self._death() from None

    def receive(self):
        """Its next message: (number, result)."""
        try:
            number, result, error = self.connection.recv()
        except (EOFError, OSError):  # Also in the midst of what it says.
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
    """Starts processes with SIGINT blocked: their parent ends them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def run_worker(connection: Connection, doing: str, remedy: str) -> None:
    """Does what comes through a pipe until its other end is closed.

    First come the paths of modules, and `prepare` and `factory` of `Workers`,
    pickled. Says `(number, result, error)`: once with number None when it is
    ready, then for every `(number, task)`. After an error it ends.

    Args:
        connection: the pipe.
        doing, remedy: see `Workers`.
    """
    # Ctrl-C goes to the whole terminal; the parent decides what ends.
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
        pass  # The parent has gone.
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
    """Takes in what comes, so that the parent never waits to send.

    Ends the process when the parent has gone, even in the midst of a task.
    """
    try:
        while True:
            tasks.put(connection.recv())
    except (EOFError, OSError):
        os._exit(1)


def _portable(error, doing, remedy):
    """The error as one that the parent can raise."""
    if isinstance(error, InputError | OSError | MemoryError):
        return error
    if type(error).__name__ == "ResourceExhaustedError":
        return InputError(f"a {doing} worker ran out of memory. {remedy}")
    text = "".join(traceback.format_exception(error))
    return RuntimeError(f"in a {doing} worker:\n{text}")


if __name__ == "__main__":
    run_worker(Connection(int(sys.argv[1])), *sys.argv[2:])
