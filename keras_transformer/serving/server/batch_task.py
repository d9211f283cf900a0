"""One request in a queue, and several of them run as one."""

import contextlib
import dataclasses
import time
from concurrent.futures import Future, InvalidStateError

import numpy as np

from keras_transformer.contract.errors import Code, ServingError


@dataclasses.dataclass
class Task:
    """One request in a queue.

    Attributes:
        inputs: arrays by name, complete.
        outputs: names of the wanted ones; all if there are none.
        rows: size of the inputs' first axis.
        deadline: of `time.monotonic`, seconds; None: it waits for ever.
        arrived: of `time.monotonic`, seconds.
        future: gets the outputs, arrays by name, or an error.
    """

    inputs: dict
    outputs: tuple
    rows: int
    deadline: float | None
    arrived: float = dataclasses.field(default_factory=time.monotonic)
    future: Future = dataclasses.field(default_factory=Future)

    def joins(self, other) -> bool:
        """Whether the two can be one batch."""
        return self.outputs == other.outputs and all(
            array.ndim
            and other.inputs[name].ndim
            and array.shape[1:] == other.inputs[name].shape[1:]
            for name, array in self.inputs.items()
        )

    def is_wanted(self) -> bool:
        """False, and the future is done, if nobody waits any more."""
        if self.future.cancelled():
            return False
        if self.deadline is None or time.monotonic() < self.deadline:
            return True
        self.fail(deadline_exceeded())
        return False

    def fail(self, error: ServingError):
        """Gives the error to whoever waits."""
        # The client may be cancelling it at this very moment.
        with contextlib.suppress(InvalidStateError):
            self.future.set_exception(error)


def deadline_exceeded() -> ServingError:
    """The error of a request that waited too long."""
    return ServingError(Code.DEADLINE_EXCEEDED, "Timed out")


def client_gone() -> ServingError:
    """The error of a request whose client doesn't wait for the answer."""
    return ServingError(Code.CANCELLED, "The client has gone")


def server_stopping() -> ServingError:
    """The error of a request that came, or is unanswered, at the end."""
    return ServingError(Code.UNAVAILABLE, "The server is stopping")


def run_together(servable, signature: str, tasks: list) -> list[dict]:
    """The outputs of each task, from one run.

    Args:
        servable: to run.
        signature: name of the signature.
        tasks: that can be one batch.

    Returns:
        for each task: arrays by name.

    Raises:
        ServingError: FAILED_PRECONDITION: an output hasn't a row for each of
            the inputs'.
        Exception: whatever the servable raises.
    """
    first = tasks[0]
    if len(tasks) == 1:
        return [servable.run(signature, first.inputs, first.outputs)]
    inputs = {
        name: np.concatenate([task.inputs[name] for task in tasks])
        for name in first.inputs
    }
    outputs = servable.run(signature, inputs, first.outputs)
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
        {name: array[end - n : end] for name, array in outputs.items()}
        for end, n in zip(ends, rows, strict=True)
    ]
