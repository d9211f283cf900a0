"""Batching: runs requests of many clients together, from bounded queues."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, InvalidStateError
from typing import TYPE_CHECKING

import numpy as np

from keras_transformer.contract import layout
from keras_transformer.contract.status import (
    Code,
    ServingError,
    as_serving_error,
    invalid_argument,
)
from keras_transformer.serving.server import admission
from keras_transformer.serving.server.config_files import BatchingParameters
from keras_transformer.serving.server.signature_tensors import (
    complete_inputs,
    count_rows,
)

if TYPE_CHECKING:
    from keras_transformer.serving.server.servable import Servable

# Limits of a slice of a batch: rows, the number that a graph translates
# together, and bytes of text, as a text may have hundreds of sentences.
_SLICE_ROWS, _SLICE_BYTES = 64, 2**14


@dataclasses.dataclass(eq=False)
class Task:
    """One request in a queue.

    Attributes:
        inputs: arrays by name, completed with defaults.
        outputs: names of the requested outputs; empty: all of them.
        rows: size of the inputs' first axis.
        deadline: time in seconds, as of `time.monotonic`; None: no limit.
        arrived: time in seconds, as of `time.monotonic`.
        future: receives the outputs, arrays by name, or an error.
    """

    inputs: dict
    outputs: tuple
    rows: int
    deadline: float | None
    arrived: float = dataclasses.field(default_factory=time.monotonic)
    future: Future = dataclasses.field(default_factory=Future)

    def joins(self, other: Task) -> bool:
        """True if two tasks can be in one batch."""
        return self.outputs == other.outputs and all(
            array.ndim
            and other.inputs[name].ndim
            and array.shape[1:] == other.inputs[name].shape[1:]
            for name, array in self.inputs.items()
        )

    def is_awaited(self) -> bool:
        """True unless the client gave up or the deadline passed.

        Fails the future if the deadline passed.
        """
        if self.future.cancelled():
            return False
        if self.deadline is None or time.monotonic() < self.deadline:
            return True
        self.fail(admission.deadline_exceeded())
        return False

    def fail(self, error: ServingError) -> None:
        """Sets an error as the future's result."""
        # The client may cancel it concurrently.
        with contextlib.suppress(InvalidStateError):
            self.future.set_exception(error)

    def answer(self, outputs: dict) -> None:
        """Sets the outputs as the future's result."""
        # A stopping server may have failed it meanwhile.
        with contextlib.suppress(InvalidStateError):
            self.future.set_result(outputs)


class Batcher:
    """Worker threads, and a queue for each signature of a version.

    Args:
        parameters: sizes of the batches and the queues.
        together: bool, whether to batch requests; if False, each runs alone.
        observe: called with `(model, rows, seconds, waits)` after each batch;
            `waits` are the seconds that its requests were queued.
    """

    def __init__(
        self,
        parameters: BatchingParameters,
        together: bool,
        observe: Callable[[str, int, float, list[float]], None],
    ) -> None:
        self._parameters = parameters
        self._together = together
        self._observe = observe
        self._queues: collections.OrderedDict = collections.OrderedDict()
        self._condition = threading.Condition()
        self._closed = False
        self._running: set = set()  # tasks of running batches
        self._threads = [
            threading.Thread(
                target=self._work, name=f"batch-{number}", daemon=True
            )
            for number in range(parameters.num_batch_threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(
        self,
        servable: Servable,
        signature: str,
        inputs: dict,
        outputs: tuple = (),
        deadline: float | None = None,
    ) -> Future:
        """Queues a request.

        Args:
            servable: the servable to run; the caller must keep it loaded
                until the future is done.
            signature: name of the signature.
            inputs: arrays by name.
            outputs: names of the requested outputs; empty: all of them.
            deadline: time in seconds, as of `time.monotonic`, after which the
                request is dropped if it isn't running.

        Returns:
            a future of arrays by name. Cancelling it drops the request.

        Raises:
            ServingError: UNAVAILABLE: the queue is full, or the server is
                stopping; INVALID_ARGUMENT: the inputs don't match the
                signature, or have more rows than a batch.
        """
        inputs = complete_inputs(servable.signature(signature), inputs)
        rows = count_rows(inputs)
        if self._together:
            self._check_size(inputs, rows)
        task = Task(inputs, tuple(outputs), rows, deadline)
        with self._condition:
            if self._closed:
                raise admission.server_stopping()
            key = (servable, signature)
            queue = self._queues.setdefault(key, collections.deque())
            self._refuse_if_full(queue, rows)
            queue.append(task)
            self._condition.notify()
        return task.future

    def close(self, seconds: float) -> None:
        """Refuses new requests and completes the queued ones.

        Args:
            seconds: time for the queued requests; then they fail with
                UNAVAILABLE, even those of a running batch.
        """
        with self._condition:
            self._closed = True
            self._condition.notify_all()
        end = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))
        with self._condition:
            waiting = [t for queue in self._queues.values() for t in queue]
            self._queues.clear()
            running = list(self._running)
        # A batch that hangs would block its clients and the process.
        for task in (*waiting, *running):
            task.fail(admission.server_stopping())

    def _check_size(self, inputs, rows):
        if any(not array.ndim for array in inputs.values()):
            raise invalid_argument(
                "Batching Run() input tensors must have at least one dimension"
            )
        if len({len(array) for array in inputs.values()}) > 1:
            raise invalid_argument(
                "Batching Run() input tensors must have equal 0th-dimension "
                "size"
            )
        if rows > self._parameters.max_batch_size:
            raise invalid_argument(
                f"Task size {rows} is larger than maximum input batch size "
                f"{self._parameters.max_batch_size}"
            )

    def _refuse_if_full(self, queue, rows):
        """Refuses a task if the queue is full; requires the lock.

        Tasks whose clients gave up are dropped first.
        """
        if self._is_full(queue, rows):
            awaited = [task for task in queue if task.is_awaited()]
            queue.clear()
            queue.extend(awaited)
        if self._is_full(queue, rows):
            raise ServingError(
                Code.UNAVAILABLE,
                "The batch scheduling queue to which this task was submitted "
                "is full",
            )

    def _is_full(self, queue, rows):
        limit = self._parameters.max_enqueued_batches
        if not self._together:
            return len(queue) >= limit
        waiting = sum(task.rows for task in queue)
        return waiting + rows > limit * self._parameters.max_batch_size

    def _work(self):
        while True:
            # The timeout of a batch starts only when a worker is free. Clients
            # that were just answered send their next requests then, which
            # would otherwise miss the batch of those that came meanwhile.
            free_since = time.monotonic()
            with self._condition:
                key, tasks = self._take(free_since)
                while not tasks:
                    if self._closed and not self._queues:
                        return
                    self._condition.wait(self._seconds_to_wait(free_since))
                    key, tasks = self._take(free_since)
                self._running.update(tasks)
            self._run(key, tasks)
            with self._condition:
                self._running.difference_update(tasks)

    def _take(self, free_since):
        """Returns `(key, tasks)` of the next due batch; requires the lock."""
        for key, queue in list(self._queues.items()):
            while queue and not queue[0].is_awaited():
                queue.popleft()
            if not queue:
                del self._queues[key]
            elif self._is_due(queue, free_since):
                tasks = self._next_tasks(queue)
                if not queue:
                    del self._queues[key]
                else:
                    # Other queues get their turn first.
                    self._queues.move_to_end(key)
                    self._condition.notify()
                # From here on the futures can't be cancelled.
                running = [
                    task
                    for task in tasks
                    if task.future.set_running_or_notify_cancel()
                ]
                if running:
                    return key, running
        return None, []

    def _next_tasks(self, queue):
        first = queue.popleft()
        tasks, rows, others = [first], first.rows, []
        while self._together and queue:
            task = queue.popleft()
            fits = rows + task.rows <= self._parameters.max_batch_size
            if not task.is_awaited():
                continue
            if fits and task.joins(first):
                tasks.append(task)
                rows += task.rows
            else:
                others.append(task)
                if not fits:
                    break
        queue.extendleft(reversed(others))
        return tasks

    def _is_due(self, queue, free_since):
        if not self._together or self._closed:
            return True
        if time.monotonic() >= self._due_at(queue, free_since):
            return True
        return (
            sum(task.rows for task in queue) >= self._parameters.max_batch_size
        )

    def _due_at(self, queue, free_since):
        seconds = self._parameters.batch_timeout_micros / 1e6
        return max(queue[0].arrived, free_since) + seconds

    def _seconds_to_wait(self, free_since):
        if not self._queues:
            return None
        first = min(
            self._due_at(queue, free_since) for queue in self._queues.values()
        )
        return max(0.0, first - time.monotonic())

    def _run(self, key, tasks):
        # When tasks run one by one, earlier ones may use up the time of later.
        tasks = [task for task in tasks if task.is_awaited()]
        if not tasks:
            return
        servable, signature = key
        started = time.monotonic()
        try:
            results = _run_together(servable, signature, tasks)
        # One request may make the whole batch fail, so each is retried alone.
        except Exception as error:
            if len(tasks) == 1:
                tasks[0].fail(as_serving_error(error))
                return
            for task in tasks:
                self._run(key, [task])
            return
        rows = sum(task.rows for task in tasks)
        waits = [started - task.arrived for task in tasks]
        self._observe(servable.name, rows, time.monotonic() - started, waits)
        for task, result in zip(tasks, results, strict=True):
            task.answer(result)


def _run_together(servable, signature: str, tasks: list) -> list[dict]:
    """Runs tasks as one batch and splits its outputs.

    Args:
        servable: the servable to run.
        signature: name of the signature.
        tasks: tasks that can be in one batch.

    Returns:
        arrays by name for each task.

    Raises:
        ServingError: FAILED_PRECONDITION: an output doesn't have as many rows
            as the inputs.
        Exception: any error of the servable.
    """
    first = tasks[0]
    if len(tasks) == 1:
        return [_run_in_slices(servable, signature, tasks, first.inputs)]
    inputs = {
        # b rows of each task: (B, ...)
        name: np.concatenate([task.inputs[name] for task in tasks])
        for name in first.inputs
    }
    outputs = _run_in_slices(servable, signature, tasks, inputs)
    rows = [task.rows for task in tasks]
    for array in outputs.values():
        if not array.ndim or len(array) != sum(rows):
            raise ServingError(
                Code.FAILED_PRECONDITION,
                "Batched output tensor's 0th dimension does not equal the sum "
                "of the 0th dimension sizes of the input tensors",
            )
    ends = np.cumsum(rows)
    return [
        # (B, ...) -> (b, ...)
        {name: array[end - n : end] for name, array in outputs.items()}
        for end, n in zip(ends, rows, strict=True)
    ]


def _run_in_slices(servable, signature, tasks, inputs):
    """Runs a batch in slices, as long as a client waits for its outputs.

    Without slices, a worker could translate for minutes after all clients have
    given up.
    """
    outputs: list[dict] = []
    for part in _slices(servable, signature, inputs):
        if outputs and not any(task.is_awaited() for task in tasks):
            raise admission.deadline_exceeded()
        outputs.append(servable.run_batch(signature, part, tasks[0].outputs))
    if len(outputs) == 1:
        return outputs[0]
    return {
        name: np.concatenate([arrays[name] for arrays in outputs])
        for name in outputs[0]
    }


def _slices(servable, signature, inputs) -> Iterator[dict]:
    """Yields slices of inputs; only one if outputs can't be concatenated."""
    known = layout.SIGNATURES.get(signature or layout.BEAM)
    definition = servable.signature(signature)
    if (
        count_rows(inputs) <= 1  # 1 also if rows differ: the graph refuses it.
        or known is None
        or known.varying
        or {*known.inputs} != {*definition.inputs}
        or {*known.outputs} != {*definition.outputs}
    ):
        yield inputs
        return
    begin = size = 0
    for row, texts in enumerate(zip(*inputs.values(), strict=True)):
        more = sum(map(len, texts))
        is_full = row - begin == _SLICE_ROWS or size + more > _SLICE_BYTES
        if row > begin and is_full:
            yield {name: array[begin:row] for name, array in inputs.items()}
            begin, size = row, 0
        size += more
    yield {name: array[begin:] for name, array in inputs.items()}
