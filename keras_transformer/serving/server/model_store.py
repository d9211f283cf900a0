"""Model store: the models in memory, kept as the folders on disk are.

A version is loaded, handed to requests, and unloaded when the last one of them
is answered.
"""

from __future__ import annotations

import dataclasses
import pathlib
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from keras_transformer.contract.status import (
    Code,
    ServingError,
    VersionState,
    as_serving_error,
    invalid_argument,
)
from keras_transformer.errors import InputError
from keras_transformer.serving.server.config_files import ModelConfig
from keras_transformer.serving.server.loading import PatientCalls, folder_stamp

if TYPE_CHECKING:
    from keras_transformer.serving.server.servable import Servable


# Seconds that a poll waits for a version before it goes on without it, and for
# a look at what is on disk.
_PATIENCE, _LOOK_PATIENCE = 30.0, 10.0
# Of a version that can't be loaded, and seconds before each. It is also tried
# again whenever its files change.
_MAX_RETRIES, _RETRY_SECONDS = 5, 60.0
# Of a loop that waits for several things.
_TICK = 0.05


@dataclasses.dataclass
class StoredVersion:
    """State of one version.

    Attributes:
        version: its number.
        folder: of the version.
        state: a `VersionState`.
        error: why it ended, a `ServingError`; None if all is well.
        servable: loaded model; None before and after.
        in_flight: requests that use it.
        attempts: how often its loading has failed.
        retry_at: when it is tried again, of `time.monotonic`, seconds.
        stamp: of its files when they were last loaded, to see a change.
        thread: that loads it or did so; it may hang.
        load_until: when its loading has to be done, of `time.monotonic`.
    """

    version: int
    folder: pathlib.Path
    state: VersionState = VersionState.START
    error: ServingError | None = None
    servable: Servable | None = None
    in_flight: int = 0
    attempts: int = 0
    retry_at: float = 0.0
    stamp: tuple = ()
    thread: threading.Thread | None = None
    load_until: float = 0.0

    def gives_way_to(self, folder: pathlib.Path) -> bool:
        """True if another folder of its number is to be loaded instead.

        It is once this one has been unloaded, or has failed to load and the
        folder is another than its own.

        Args:
            folder: of the version now.
        """
        if self.state is not VersionState.END:
            return False
        hangs = self.thread is not None and self.thread.is_alive()
        return self.error is None or (folder != self.folder and not hangs)

    def is_due(self, stamp: tuple | None) -> bool:
        """True if it is to be loaded now.

        Args:
            stamp: of its files as they are; needed once it has failed.
        """
        if self.state is not VersionState.END:
            return self.state is VersionState.START
        if self.thread is not None and self.thread.is_alive():
            return False  # Its files block: others would hang, too.
        if stamp != self.stamp:
            # Someone has repaired it, or a copy is more complete.
            self.attempts = 0
            return True
        waited = time.monotonic() >= self.retry_at
        return waited and self.attempts <= _MAX_RETRIES

    def fail(self, error: ServingError) -> None:
        """Ends it, until it is tried again."""
        self.state, self.error = VersionState.END, error
        self.attempts += 1
        self.retry_at = time.monotonic() + _RETRY_SECONDS

    def close_if_unused(self) -> Servable | None:
        """Ends the version if it is unloading and no request uses it.

        Returns:
            the servable to close, once the lock is given back; or None.
        """
        if self.state is not VersionState.UNLOADING or self.in_flight:
            return None
        servable, self.servable = self.servable, None
        self.state = VersionState.END
        return servable


class Handle:
    """The right to use a servable, until it is released.

    Args:
        state: a `StoredVersion`, AVAILABLE.
        lock: that guards it, held by the caller.

    Attributes:
        servable: to run.
    """

    def __init__(self, state: StoredVersion, lock: threading.Lock) -> None:
        self._state = state
        self._lock = lock
        self._released = False
        self.servable: Any = state.servable
        state.in_flight += 1

    def release(self) -> None:
        """Gives the right back; further calls do nothing."""
        with self._lock:
            if self._released:
                return
            self._released = True
            self._state.in_flight -= 1
            servable = self._state.close_if_unused()
        if servable is not None:
            servable.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class ModelStore:
    """Loads versions, hands them to requests, and unloads them.

    A new version is loaded before an old one is unloaded, and an old one
    stays until its last request is answered. Where no version that is to be
    served can be loaded, the old one stays.

    Args:
        source: returns the `ModelConfig`s; asked at every poll.
        load: `(name, version, folder)` to a servable, with `run`,
            `signatures` and `close`.
        poll_seconds: between two polls of the folders; 0: one poll only.
        load_seconds: given to a version to be loaded.
        log: takes a line for each event.
    """

    def __init__(
        self,
        source: Callable[[], list[ModelConfig]],
        load: Callable,
        poll_seconds: float = 1.0,
        load_seconds: float = 600.0,
        log: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._source = source
        self._load = load
        self._poll_seconds = poll_seconds
        self._load_seconds = load_seconds
        self._calls = PatientCalls(min(_LOOK_PATIENCE, load_seconds))
        self._log = log
        self._lock = threading.Lock()
        self._configs: dict[str, ModelConfig] = {}
        self._labels: dict[str, dict[str, int]] = {}
        self._models: dict[str, dict[int, StoredVersion]] = {}
        self._served: dict[str, list[int]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._keep_polling, name="model-store", daemon=True
        )

    def start(self) -> None:
        """Loads what is there, then polls in a thread.

        It waits until each model has a version or none that is being loaded;
        where it won't poll again, until all are loaded.
        """
        self.poll()
        polls = self._poll_seconds > 0
        if polls:
            self._thread.start()
        while any(self._is_waited_for(name, polls) for name in self.names()):
            time.sleep(_TICK)
        if not polls:
            self.poll()

    def poll(self) -> None:
        """Reads the folders once, and loads and unloads.

        Errors are logged and kept as states: the next poll tries again.
        """
        try:
            source = self._calls.call("the models' file", self._source)
            configs = {config.name: config for config in source}
        except InputError as error:
            self._log(f"models are left as they are: {error}")
            configs = self._configs
        gone = self._configs.keys() - configs.keys()
        with self._lock:
            self._configs = configs
            for config in configs.values():
                self._models.setdefault(config.name, {})
                self._move_labels(config)
        for name in gone:
            del self._labels[name]
            with self._lock:
                self._served[name] = []
            self._unload_all_but(name, [])
        for config in configs.values():
            self._follow(config)

    def acquire(
        self, name: str, version: int | None = None, label: str = ""
    ) -> Handle:
        """The right to use a version: one by number or label, or the latest.

        Raises:
            ServingError: NOT_FOUND: no such version is available;
                INVALID_ARGUMENT: no such label.
        """
        with self._lock:
            version = self._by_label(name, version, label)
            states = self._models.get(name, {})
            matches = [
                state
                for number, state in states.items()
                if state.state is VersionState.AVAILABLE
                and version in (None, number)
            ]
            if matches:
                return Handle(max(matches, key=lambda s: s.version), self._lock)
        request = (
            f"Latest({name})"
            if version is None
            else f"Specific({name}, {version})"
        )
        raise ServingError(
            Code.NOT_FOUND, f"Servable not found for request: {request}"
        )

    def states(
        self, name: str, version: int | None = None, label: str = ""
    ) -> list[tuple[int, VersionState, ServingError | None]]:
        """Number, state and error of a model's versions, the highest first.

        Raises:
            ServingError: NOT_FOUND: there is no such model or version.
        """
        with self._lock:
            self._end_late()
            version = self._by_label(name, version, label)
            rows = [
                (number, state.state, state.error)
                for number, state in self._models.get(name, {}).items()
                if version in (None, number)
            ]
        if rows:
            return sorted(rows, key=lambda row: row[0], reverse=True)
        what = "any versions" if version is None else f"version {version}"
        raise ServingError(
            Code.NOT_FOUND, f"Could not find {what} of model {name}"
        )

    def names(self) -> list[str]:
        """Names of all configured models."""
        with self._lock:
            return sorted(self._configs)

    def is_available(self, name: str) -> bool:
        """True if a version of the model takes requests."""
        with self._lock:
            return bool(self._available(name))

    def in_flight(self) -> int:
        """Number of requests that use a version."""
        with self._lock:
            return sum(
                state.in_flight
                for states in self._models.values()
                for state in states.values()
            )

    def close(self, seconds: float = 10.0) -> None:
        """Stops polling and unloads everything that no request uses.

        Args:
            seconds: that it may take. What hangs by then is left alone.
        """
        end = time.monotonic() + seconds
        self._stop.set()
        unloading = threading.Thread(target=self._unload_all, daemon=True)
        unloading.start()
        for thread in (self._thread, unloading):
            if thread.is_alive():
                thread.join(max(0.0, end - time.monotonic()))

    def _unload_all(self):
        for name in list(self._models):
            self._unload_all_but(name, [])

    def _is_waited_for(self, name, polls):
        """True if the server can't start before a version is loaded."""
        with self._lock:
            self._end_late()
            states = [s.state for s in self._models[name].values()]
        if polls and VersionState.AVAILABLE in states:
            return False
        return VersionState.LOADING in states

    def _end_late(self):
        """Ends versions whose time to be loaded is over; the lock is held."""
        message = f"It wasn't loaded after {self._load_seconds:g} s"
        for name, states in self._models.items():
            for number, state in states.items():
                loads = state.state is VersionState.LOADING
                if loads and time.monotonic() > state.load_until:
                    state.fail(ServingError(Code.DEADLINE_EXCEEDED, message))
                    self._log(f"{name} {number}: not loaded: {state.error}")

    def _by_label(self, name, version, label):
        """The version that is meant, None for the latest; the lock is held."""
        if not label:
            return version
        if version is not None:
            raise invalid_argument(
                f"Both model version ({version}) and model version label "
                f"({label}) cannot be supplied."
            )
        labels = self._labels.get(name, {})
        if label not in labels:
            raise invalid_argument(
                f"Unrecognized servable version label: {label}"
            )
        return labels[label]

    def _available(self, name):
        """The versions that take requests, with the lock held."""
        states = self._models.get(name, {}).items()
        return {
            number for number, s in states if s.state is VersionState.AVAILABLE
        }

    def _move_labels(self, config):
        """Lets labels name what they can, with the lock held.

        One that is in use moves to no version that doesn't answer.
        """
        before = self._labels.get(config.name, {})
        available = self._available(config.name)
        self._labels[config.name] = {
            label: version
            if version in available
            else before.get(label, version)
            for label, version in config.labels
        }

    def _keep_polling(self):
        while not self._stop.wait(self._poll_seconds):
            try:
                self.poll()
            # Whatever it was, the next poll may succeed.
            except Exception as error:
                self._log(f"polling failed: {as_serving_error(error)}")

    def _follow(self, config):
        try:
            folders = self._calls.call(
                str(config.base_path), config.version_folders
            )
        except InputError as error:
            self._log(str(error))
            return
        served = config.versions_to_serve(folders)
        with self._lock:
            self._end_late()
            self._served[config.name] = served
        for version in served:
            self._load_if_due(config.name, version, folders[version])
        with self._lock:
            self._move_labels(config)
            ready = not self._available(config.name).isdisjoint(served)
            # One that a label still names stays until that can move.
            named = self._labels[config.name].values()
        if ready or not served:
            self._unload_all_but(config.name, [*served, *named])

    def _load_if_due(self, name, version, folder):
        with self._lock:
            states = self._models[name]
            if version not in states or states[version].gives_way_to(folder):
                states[version] = StoredVersion(version, folder)
            state = states[version]
        try:
            # Of one that wasn't loaded: its files may have changed.
            stamp = None
            if state.error:
                stamp = self._calls.call(str(folder), folder_stamp, folder)
        except InputError as error:
            self._log(str(error))
            return
        with self._lock:
            due = state.is_due(stamp)
            if not due or self._stop.is_set():
                return
            state.state, state.error = VersionState.LOADING, None
            state.load_until = time.monotonic() + self._load_seconds
            thread = state.thread = threading.Thread(
                target=self._load_now, args=(name, state), daemon=True
            )
        thread.start()
        end = time.monotonic() + min(_PATIENCE, self._load_seconds)
        while not self._stop.is_set() and time.monotonic() < end:
            thread.join(_TICK)
            if not thread.is_alive():
                return

    def _load_now(self, name, state):
        started = time.monotonic()
        servable = failure = None
        try:
            state.stamp = folder_stamp(state.folder)
            servable = self._load(name, state.version, state.folder)
        # TensorFlow has a different error for every damage.
        except Exception as error:
            failure = as_serving_error(error)
        with self._lock:
            awaited = state.state is VersionState.LOADING
            served = state.version in self._served[name]
            if awaited and failure:
                state.fail(failure)
            elif awaited and served and not self._stop.is_set():
                state.servable, state.state = servable, VersionState.AVAILABLE
                servable = None
            elif awaited:
                state.state = VersionState.END
        seconds = time.monotonic() - started
        if servable is not None:
            self._log(f"{name} {state.version}: loaded after {seconds:.1f} s")
            servable.close()
        elif failure:
            self._log(f"{name} {state.version}: not loaded: {failure}")
        else:
            self._log(
                f"{name} {state.version}: available after {seconds:.1f} s"
            )

    def _unload_all_but(self, name, kept):
        closing = []
        with self._lock:
            for version, state in self._models.get(name, {}).items():
                if version in kept or state.state is not VersionState.AVAILABLE:
                    continue
                state.state = VersionState.UNLOADING
                closing.append((version, state.close_if_unused()))
        for version, servable in closing:
            self._log(f"{name} {version}: unloading")
            if servable is not None:
                servable.close()
