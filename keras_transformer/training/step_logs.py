"""Logs of steps, read from the device only when they are used.

To read a number the host waits until the device has computed it; the device is
then idle until the host has dispatched the next step.
"""

import collections
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import keras

# Steps dispatched to the device that may be unfinished.
_STEPS_AHEAD = 4


class StepLogs(Mapping):
    """The logs of a step, read when the first of them is accessed.

    To be read before the next step begins.

    Args:
        scores: `{name: number}`; numbers may be arrays on the device.
        readings: returns further logs when called.
    """

    def __init__(self, scores: Mapping, readings: Callable[[], dict]) -> None:
        self._scores = scores
        self._readings = readings
        self._read: dict | None = None

    def _all(self):
        if self._read is None:
            scores = {name: float(n) for name, n in self._scores.items()}
            self._read = {**scores, **self._readings()}
        return self._read

    def __getitem__(self, name: str) -> float:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


class UnreadLogs(keras.callbacks.CallbackList):
    """A callback list that passes on the logs of a step as JAX arrays, unread.

    Keras' own list reads them after each step. Here the host runs ahead of the
    device, but only by a few steps: so a signal, exhausted memory or a damaged
    shard is reported soon, and inputs don't pile up.

    Takes the arguments of `keras.callbacks.CallbackList`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._under_way: collections.deque = collections.deque()

    def on_train_batch_end(self, batch: int, logs: Mapping) -> None:
        self._wait(logs)
        for callback in self.callbacks:
            callback.on_train_batch_end(batch, logs)

    def on_test_batch_end(self, batch: int, logs: Mapping) -> None:
        self._wait(logs)
        for callback in self.callbacks:
            callback.on_test_batch_end(batch, logs)

    def _wait(self, logs):
        """Waits until only a few of the dispatched steps are unfinished."""
        self._under_way.append(logs["loss"])
        if len(self._under_way) > _STEPS_AHEAD:
            self._under_way.popleft().block_until_ready()
