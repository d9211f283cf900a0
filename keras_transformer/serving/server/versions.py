"""A version's life in the server, and its use by requests in flight."""

import dataclasses
import enum
import pathlib
import threading
import time

from keras_transformer.contract.errors import ServingError
from keras_transformer.contract.names import SAVED_MODEL, VARIABLES


class State(enum.Enum):
    """TensorFlow Serving's states of a version, by number."""

    START = 10
    LOADING = 20
    AVAILABLE = 30
    UNLOADING = 40
    END = 50


@dataclasses.dataclass
class VersionState:
    """What the store knows of one version.

    Attributes:
        version: its number.
        folder: where it lies.
        state: a `State`.
        error: why it ended, a `ServingError`; None if all is well.
        servable: loaded model; None before and after.
        in_flight: requests that use it.
        attempts: how often its loading has failed.
        retry_at: when it is tried again, of `time.monotonic`, seconds.
        stamp: of its files when they were last loaded, to see a change.
    """

    version: int
    folder: pathlib.Path
    state: State = State.START
    error: ServingError | None = None
    servable: object = None
    in_flight: int = 0
    attempts: int = 0
    retry_at: float = 0.0
    stamp: tuple = ()

    def is_unloaded(self) -> bool:
        """Whether its life ended well."""
        return self.state is State.END and self.error is None

    def is_due(self, stamp: tuple, max_retries: int) -> bool:
        """Whether it is to be loaded now.

        Args:
            stamp: of its files as they are.
            max_retries: after the first failure.
        """
        if self.state is not State.END:
            return self.state is State.START
        if stamp != self.stamp:
            # Someone has mended it, or a copy is more complete.
            self.attempts = 0
            return True
        waited = time.monotonic() >= self.retry_at
        return waited and self.attempts <= max_retries

    def fail(self, error: ServingError, retry_seconds: float):
        """Ends it, until it is tried again."""
        self.state, self.error = State.END, error
        self.attempts += 1
        self.retry_at = time.monotonic() + retry_seconds

    def close_if_unused(self):
        """Ends the version if it is unloading and no request uses it.

        Returns:
            the servable to close, once the lock is given back; or None.
        """
        if self.state is not State.UNLOADING or self.in_flight:
            return None
        servable, self.servable = self.servable, None
        self.state = State.END
        return servable


class Handle:
    """The right to use a servable, until it is released.

    Args:
        state: the version's `VersionState`, AVAILABLE.
        lock: that guards it, held by the caller.

    Attributes:
        servable: to run.
    """

    def __init__(self, state: VersionState, lock: threading.Lock):
        self._state = state
        self._lock = lock
        self._released = False
        self.servable = state.servable
        state.in_flight += 1

    def release(self):
        """Gives the right back; further calls do nothing."""
        with self._lock:
            if self._released:
                return
            self._released = True
            self._state.in_flight -= 1
            servable = self._state.close_if_unused()
        if servable is not None:
            servable.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.release()


def folder_stamp(folder: pathlib.Path) -> tuple:
    """Times and sizes of the files that change when a version is mended."""
    stamp = []
    for name in (SAVED_MODEL, f"{VARIABLES}.index"):
        try:
            status = (folder / name).stat()
            stamp.append((status.st_mtime_ns, status.st_size))
        except OSError:
            stamp.append(None)
    return tuple(stamp)
