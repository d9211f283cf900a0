"""Model store: the models in memory, kept as the folders on disk are.

A version is loaded, handed to requests, and unloaded when the last one of them
is answered.
"""

import dataclasses
import pathlib
import threading
import time
from collections.abc import Callable

from keras_transformer.contract.layout import SAVED_MODEL, VARIABLES
from keras_transformer.contract.status import (
    Code,
    ServingError,
    VersionState,
    as_serving_error,
    invalid_argument,
)
from keras_transformer.errors import InputError
from keras_transformer.export.ctranslate2_folder import DESCRIPTION, MODEL
from keras_transformer.serving.server.config_files import ModelConfig

# Files that change when a version is repaired, of either kind of export.
_STAMPED = (SAVED_MODEL, f"{VARIABLES}.index", MODEL, DESCRIPTION)


@dataclasses.dataclass
class StoredVersion:
    """What the store knows of one version.

    Attributes:
        version: its number.
        folder: where it lies.
        state: a `VersionState`.
        error: why it ended, a `ServingError`; None if all is well.
        servable: loaded model; None before and after.
        in_flight: requests that use it.
        attempts: how often its loading has failed.
        retry_at: when it is tried again, of `time.monotonic`, seconds.
        stamp: of its files when they were last loaded, to see a change.
    """

    version: int
    folder: pathlib.Path
    state: VersionState = VersionState.START
    error: ServingError | None = None
    servable: object = None
    in_flight: int = 0
    attempts: int = 0
    retry_at: float = 0.0
    stamp: tuple = ()

    def is_unloaded(self) -> bool:
        """Whether its life ended well."""
        return self.state is VersionState.END and self.error is None

    def is_due(self, stamp: tuple, max_retries: int) -> bool:
        """Whether it is to be loaded now.

        Args:
            stamp: of its files as they are.
            max_retries: after the first failure.
        """
        if self.state is not VersionState.END:
            return self.state is VersionState.START
        if stamp != self.stamp:
            # Someone has repaired it, or a copy is more complete.
            self.attempts = 0
            return True
        waited = time.monotonic() >= self.retry_at
        return waited and self.attempts <= max_retries

    def fail(self, error: ServingError, retry_seconds: float):
        """Ends it, until it is tried again."""
        self.state, self.error = VersionState.END, error
        self.attempts += 1
        self.retry_at = time.monotonic() + retry_seconds

    def close_if_unused(self):
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

    def __init__(self, state: StoredVersion, lock: threading.Lock):
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
        max_load_retries: of a version that can't be loaded. It is also tried
            again whenever its files change.
        load_retry_seconds: between them.
        log: takes a line for each event.
    """

    def __init__(
        self,
        source: Callable[[], list[ModelConfig]],
        load: Callable,
        poll_seconds: float = 1.0,
        max_load_retries: int = 5,
        load_retry_seconds: float = 60.0,
        log: Callable[[str], None] = lambda line: None,
    ):
        self._source = source
        self._load = load
        self._poll_seconds = poll_seconds
        self._max_load_retries = max_load_retries
        self._load_retry_seconds = load_retry_seconds
        self._log = log
        self._lock = threading.Lock()
        self._configs: dict[str, ModelConfig] = {}
        self._labels: dict[str, dict[str, int]] = {}
        self._models: dict[str, dict[int, StoredVersion]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._keep_polling, name="model-store", daemon=True
        )

    def start(self):
        """Loads what is there, then polls in a thread."""
        self.poll()
        if self._poll_seconds > 0:
            self._thread.start()

    def poll(self):
        """Reads the folders once, and loads and unloads.

        Errors are logged and kept as states: the next poll tries again.
        """
        try:
            configs = {config.name: config for config in self._source()}
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
        """Of all configured models."""
        with self._lock:
            return sorted(self._configs)

    def is_available(self, name: str) -> bool:
        """Whether a version of the model takes requests."""
        with self._lock:
            return bool(self._available(name))

    def in_flight(self) -> int:
        """How many requests use a version."""
        with self._lock:
            return sum(
                state.in_flight
                for states in self._models.values()
                for state in states.values()
            )

    def close(self):
        """Stops polling and unloads everything that no request uses."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()
        for name in list(self._models):
            self._unload_all_but(name, [])

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
        """Lets labels name what they can, with the lock held."""
        before = self._labels.get(config.name, {})
        available = self._available(config.name)
        self._labels[config.name] = config.moved_labels(before, available)

    def _keep_polling(self):
        while not self._stop.wait(self._poll_seconds):
            try:
                self.poll()
            # Whatever it was, the next poll may succeed.
            except Exception as error:
                self._log(f"polling failed: {as_serving_error(error)}")

    def _follow(self, config):
        try:
            folders = config.version_folders()
        except InputError as error:
            self._log(str(error))
            return
        served = config.versions_to_serve(folders)
        for version in served:
            self._load_if_due(config.name, version, folders[version])
        with self._lock:
            self._move_labels(config)
            ready = not self._available(config.name).isdisjoint(served)
        if ready or not served:
            self._unload_all_but(config.name, served)

    def _load_if_due(self, name, version, folder):
        if self._stop.is_set():
            return
        stamp = _folder_stamp(folder)
        with self._lock:
            states = self._models[name]
            if version not in states or states[version].is_unloaded():
                states[version] = StoredVersion(version, folder)
            state = states[version]
            if not state.is_due(stamp, self._max_load_retries):
                return
            state.state, state.error, state.stamp = (
                VersionState.LOADING,
                None,
                stamp,
            )
        self._load_now(name, state)

    def _load_now(self, name, state):
        started = time.monotonic()
        try:
            servable = self._load(name, state.version, state.folder)
        # TensorFlow has a different error for every damage.
        except Exception as error:
            failure = as_serving_error(error)
            with self._lock:
                state.fail(failure, self._load_retry_seconds)
            self._log(f"{name} {state.version}: not loaded: {failure}")
            return
        with self._lock:
            state.servable, state.state = servable, VersionState.AVAILABLE
        seconds = time.monotonic() - started
        self._log(f"{name} {state.version}: available after {seconds:.1f} s")

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


def _folder_stamp(folder: pathlib.Path) -> tuple:
    """Times and sizes of the files that change when a version is repaired."""
    stamp = []
    for name in _STAMPED:
        try:
            status = (folder / name).stat()
            stamp.append((status.st_mtime_ns, status.st_size))
        except OSError:
            stamp.append(None)
    return tuple(stamp)
