"""Model store: keeps the models in memory in sync with the folders on disk.

A version is loaded, used by requests, and unloaded when the last of them is
answered.
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


# Seconds that a poll waits for a version to load before it continues, and for
# reading folders on disk.
_PATIENCE, _LOOK_PATIENCE = 30.0, 10.0
# Retries of a version that failed to load, and seconds before each. It is also
# retried whenever its files change.
_MAX_RETRIES, _RETRY_SECONDS = 5, 60.0
# Seconds between the checks of a loop with several conditions.
_TICK = 0.05


@dataclasses.dataclass
class StoredVersion:
    """State of one version.

    Attributes:
        version: its number.
        folder: the version folder.
        state: a `VersionState`.
        error: why it ended, a `ServingError`; None if there is no error.
        servable: the loaded model; None before and after.
        in_flight: number of requests that use it.
        attempts: how often loading has failed.
        retry_at: time of the next retry in seconds, as of `time.monotonic`.
        stamp: `folder_stamp` of the last load, to detect changes.
        thread: the thread that loads or loaded it; it may hang.
        load_until: time by which it must be loaded, as of `time.monotonic`.
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
        """True if a new `StoredVersion` should replace this one.

        That is the case if this one has been unloaded, or if it has failed to
        load, doesn't hang, and the version has another folder now.

        Args:
            folder: the current folder of the version.
        """
        if self.state is not VersionState.END:
            return False
        hangs = self.thread is not None and self.thread.is_alive()
        return self.error is None or (folder != self.folder and not hangs)

    def is_due(self, stamp: tuple | None) -> bool:
        """True if the version should be loaded now.

        Args:
            stamp: the current `folder_stamp`; required if loading has failed.
        """
        if self.state is not VersionState.END:
            return self.state is VersionState.START
        if self.thread is not None and self.thread.is_alive():
            return False  # Its files block; another thread would hang, too.
        if stamp != self.stamp:
            # It was repaired, or copying it has progressed.
            self.attempts = 0
            return True
        waited = time.monotonic() >= self.retry_at
        return waited and self.attempts <= _MAX_RETRIES

    def fail(self, error: ServingError) -> None:
        """Ends the version with an error and schedules a retry."""
        self.state, self.error = VersionState.END, error
        self.attempts += 1
        self.retry_at = time.monotonic() + _RETRY_SECONDS

    def close_if_unused(self) -> Servable | None:
        """Ends the version if it is unloading and no request uses it.

        Returns:
            the servable to close after the lock is released; or None.
        """
        if self.state is not VersionState.UNLOADING or self.in_flight:
            return None
        servable, self.servable = self.servable, None
        self.state = VersionState.END
        return servable


class Handle:
    """Handle of a servable, which stays loaded until the handle is released.

    Args:
        state: a `StoredVersion`, AVAILABLE.
        lock: the lock that guards it, held by the caller.

    Attributes:
        servable: the servable.
    """

    def __init__(self, state: StoredVersion, lock: threading.Lock) -> None:
        self._state = state
        self._lock = lock
        self._released = False
        self.servable: Any = state.servable
        state.in_flight += 1

    def release(self) -> None:
        """Releases the servable; further calls do nothing."""
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
    """Loads versions, provides them to requests, and unloads them.

    A new version is loaded before an old one is unloaded, and an old one stays
    until its last request is answered. If none of the versions to serve can be
    loaded, the old one stays.

    Args:
        source: function that returns the `ModelConfig`s; called at every poll.
        load: function from `(name, version, folder)` to a servable, with
            `run`, `signatures` and `close`.
        poll_seconds: seconds between polls of the folders; 0: only one poll.
        load_seconds: time limit for loading a version.
        log: called with a line for each event.
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
        # The last problem of each subject, to log it only once.
        self._problems: dict[str, str | None] = {}
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
        """Loads the versions, then polls in a thread.

        Waits until each model has an available version, or none that is still
        loading; without further polls, until no version is loading.
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
        """Reads the folders once, and loads and unloads versions.

        Errors are logged and stored in the states; the next poll retries. An
        error that an earlier poll had, too, isn't logged again.
        """
        problem = None
        try:
            source = self._calls.call("the models' file", self._source)
            configs = {config.name: config for config in source}
        except InputError as error:
            problem = f"models are left as they are: {error}"
            configs = self._configs
        self._note("the models' file", problem)
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
        """Acquires a version: by number or label, or the latest.

        Raises:
            ServingError: NOT_FOUND: no such version is available;
                INVALID_ARGUMENT: there is no such label, or both a version and
                a label are given.
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
        """Lists number, state and error of a model's versions, highest first.

        Raises:
            ServingError: NOT_FOUND: there is no such model or version;
                INVALID_ARGUMENT: see `acquire`.
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
        """Returns the names of all configured models."""
        with self._lock:
            return sorted(self._configs)

    def is_available(self, name: str) -> bool:
        """True if a version of the model is available."""
        with self._lock:
            return bool(self._available(name))

    def in_flight(self) -> int:
        """Returns the number of requests that use a version."""
        with self._lock:
            return sum(
                state.in_flight
                for states in self._models.values()
                for state in states.values()
            )

    def close(self, seconds: float = 10.0) -> None:
        """Stops polling and unloads all versions that no request uses.

        Args:
            seconds: time limit. Threads that hang are abandoned then.
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
        """True if the server must wait for one of a model's versions."""
        with self._lock:
            self._end_late()
            states = [s.state for s in self._models[name].values()]
        if polls and VersionState.AVAILABLE in states:
            return False
        return VersionState.LOADING in states

    def _end_late(self):
        """Ends versions that exceed their time to load; requires the lock."""
        message = f"It wasn't loaded after {self._load_seconds:g} s"
        for name, states in self._models.items():
            for number, state in states.items():
                loads = state.state is VersionState.LOADING
                if loads and time.monotonic() > state.load_until:
                    state.fail(ServingError(Code.DEADLINE_EXCEEDED, message))
                    self._log(f"{name} {number}: not loaded: {state.error}")

    def _by_label(self, name, version, label):
        """Returns a version, None for the latest; requires the lock."""
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
        """Returns the available versions; requires the lock."""
        states = self._models.get(name, {}).items()
        return {
            number for number, s in states if s.state is VersionState.AVAILABLE
        }

    def _move_labels(self, config):
        """Moves labels to their configured versions; requires the lock.

        A label that names a version already moves to available ones only.
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
            # The next poll may succeed after any error.
            except Exception as error:
                self._log(f"polling failed: {as_serving_error(error)}")

    def _follow(self, config):
        try:
            folders = self._calls.call(
                str(config.base_path), config.version_folders
            )
        except InputError as error:
            self._note(str(config.base_path), str(error))
            return
        self._note(str(config.base_path), None)
        served = config.versions_to_serve(folders)
        with self._lock:
            self._end_late()
            self._served[config.name] = served
        for version in served:
            self._load_if_due(config.name, version, folders[version])
        with self._lock:
            self._move_labels(config)
            ready = not self._available(config.name).isdisjoint(served)
            # A version stays as long as a label still names it.
            named = self._labels[config.name].values()
        if ready or not served:
            self._unload_all_but(config.name, [*served, *named])

    def _note(self, subject, problem):
        """Logs a problem of a subject when it is new; None: there is none."""
        if problem is not None and problem != self._problems.get(subject):
            self._log(problem)
        self._problems[subject] = problem

    def _load_if_due(self, name, version, folder):
        with self._lock:
            states = self._models[name]
            if version not in states or states[version].gives_way_to(folder):
                states[version] = StoredVersion(version, folder)
            state = states[version]
        problem = None
        if folder != state.folder:
            problem = (
                f"{name} {version}: stays that of {state.folder}. Accepted: "
                f"another version number for {folder}"
            )
        try:
            # The files of a version that failed to load may have changed.
            stamp = None
            if state.error:
                stamp = self._calls.call(str(folder), folder_stamp, folder)
        except InputError as error:
            problem = str(error)
            return
        finally:
            self._note(f"{name} {version}", problem)
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
        # TensorFlow raises a different error for each kind of damage.
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
