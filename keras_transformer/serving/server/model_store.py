"""The models in memory, kept as the folders on disk are."""

import threading
import time
from collections.abc import Callable

from keras_transformer.contract.errors import (
    Code,
    ServingError,
    as_serving_error,
)
from keras_transformer.errors import InputError
from keras_transformer.serving.server.model_config import (
    ModelConfig,
    labelled_version,
    moved_labels,
)
from keras_transformer.serving.server.versions import (
    Handle,
    State,
    VersionState,
    folder_stamp,
)


class ModelStore:
    """Loads versions, hands them to requests, and unloads them.

    A new version is loaded before an old one is unloaded, and an old one
    stays until its last request is answered. Where no wanted version can be
    loaded, the old one stays.

    Args:
        source: returns the `ModelConfig`s; asked at every poll.
        load: `(name, version, folder)` to a servable, with `run`,
            `signatures` and `close`.
        poll_seconds: between two looks at the folders; 0: one look only.
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
        self._models: dict[str, dict[int, VersionState]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=self._keep_polling, name="model-store", daemon=True
        )

    def start(self):
        """Loads what is there, then keeps looking in a thread."""
        self.poll()
        if self._poll_seconds > 0:
            self._thread.start()

    def poll(self):
        """Looks at the folders once, and loads and unloads.

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
            found = [
                state
                for number, state in states.items()
                if state.state is State.AVAILABLE and version in (None, number)
            ]
            if found:
                return Handle(max(found, key=lambda s: s.version), self._lock)
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
    ) -> list[tuple[int, State, ServingError | None]]:
        """Number, state and error of a model's versions, the highest first.

        Raises:
            ServingError: NOT_FOUND: there is no such model or version.
        """
        with self._lock:
            version = self._by_label(name, version, label)
            found = [
                (number, state.state, state.error)
                for number, state in self._models.get(name, {}).items()
                if version in (None, number)
            ]
        if found:
            return sorted(found, key=lambda row: row[0], reverse=True)
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
        """The version that is meant, with the lock held."""
        return labelled_version(self._labels.get(name, {}), version, label)

    def _available(self, name):
        """The versions that take requests, with the lock held."""
        states = self._models.get(name, {}).items()
        return {number for number, s in states if s.state is State.AVAILABLE}

    def _move_labels(self, config):
        """Lets labels name what they can, with the lock held."""
        before = self._labels.get(config.name, {})
        available = self._available(config.name)
        self._labels[config.name] = moved_labels(config, before, available)

    def _keep_polling(self):
        while not self._stop.wait(self._poll_seconds):
            try:
                self.poll()
            # Whatever it was, the next look may find it mended.
            except Exception as error:
                self._log(f"polling failed: {as_serving_error(error)}")

    def _follow(self, config):
        try:
            folders = config.version_folders()
        except InputError as error:
            self._log(str(error))
            return
        wanted = config.wanted(folders)
        for version in wanted:
            self._load_if_due(config.name, version, folders[version])
        with self._lock:
            self._move_labels(config)
            ready = not self._available(config.name).isdisjoint(wanted)
        if ready or not wanted:
            self._unload_all_but(config.name, wanted)

    def _load_if_due(self, name, version, folder):
        if self._stop.is_set():
            return
        stamp = folder_stamp(folder)
        with self._lock:
            states = self._models[name]
            if version not in states or states[version].is_unloaded():
                states[version] = VersionState(version, folder)
            state = states[version]
            if not state.is_due(stamp, self._max_load_retries):
                return
            state.state, state.error, state.stamp = State.LOADING, None, stamp
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
            state.servable, state.state = servable, State.AVAILABLE
        seconds = time.monotonic() - started
        self._log(f"{name} {state.version}: available after {seconds:.1f} s")

    def _unload_all_but(self, name, wanted):
        closing = []
        with self._lock:
            for version, state in self._models.get(name, {}).items():
                if version in wanted or state.state is not State.AVAILABLE:
                    continue
                state.state = State.UNLOADING
                closing.append((version, state.close_if_unused()))
        for version, servable in closing:
            self._log(f"{name} {version}: unloading")
            if servable is not None:
                servable.close()
