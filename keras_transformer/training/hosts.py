"""Hosts: the processes that train one model together, and what they agree on.

Each has the whole model, reads its rows of every global batch, and adds its
gradients to the others' inside the step: Keras' data parallelism, on JAX. The
first, the chief, writes the run's files. Without a `joining.Membership` there
is only one process.

Hosts agree between steps through the coordination service of
`jax.distributed`, whose barriers can wait for any time: a collective of the
devices fails when one host arrives 30 seconds after another.
"""

import contextlib
import functools
import itertools
import json
import threading
from collections.abc import Callable
from typing import Any

import keras

from keras_transformer import compat
from keras_transformer.errors import InputError


class CommonError(InputError):
    """An error on any host, raised on all hosts."""


_PREFIX = "keras_transformer"
# The chief may measure BLEU meanwhile. A lost host ends the others anyway.
_FOREVER = 7 * 24 * 3600 * 1000  # milliseconds
_POLL = 0.5  # seconds between checks whether a host was asked to stop
_numbers = itertools.count()


def on_jax() -> bool:
    """True if JAX is Keras' backend."""
    return keras.backend.backend() == "jax"


def count() -> int:
    """Number of hosts that train together."""
    if not on_jax():
        return 1
    import jax

    return jax.process_count()


def index() -> int:
    """The number of this host, from 0."""
    if not on_jax():
        return 0
    import jax

    return jax.process_index()


def is_chief() -> bool:
    """True if this host writes the run's files and shows progress."""
    return index() == 0


def replicas() -> int:
    """Number of devices, on all hosts, that share a batch."""
    distribution = keras.distribution.distribution()
    return 1 if distribution is None else distribution.num_model_replicas


def by_chief(action: Callable) -> Callable:
    """Wraps a function to run on the chief only; other hosts get None."""

    @functools.wraps(action)
    def run_by_chief(*args, **kwargs):
        return action(*args, **kwargs) if is_chief() else None

    return run_by_chief


def wait() -> None:
    """Waits until every host has called this."""
    if count() > 1:
        client = compat.coordination_client()
        client.wait_at_barrier(_next_name("barrier"), _FOREVER)


def from_chief(value: Any) -> Any:
    """Returns the chief's value on every host.

    Args:
        value: JSON-able; ignored on other hosts.
    """
    if count() == 1:
        return value
    client, name = compat.coordination_client(), _next_name("value")
    if is_chief():
        client.key_value_set(name, json.dumps(value))
        return value
    return json.loads(client.blocking_key_value_get(name, _FOREVER))


def together(action: Callable[[], Any]) -> Any:
    """Runs an action on every host; if it fails on one, raises on all.

    Args:
        action: function without arguments, which may raise `InputError`.

    Returns:
        the action's result on this host.

    Raises:
        CommonError: on every host if the action failed on any: with this
            host's own error, or else that of the first host with one.
    """
    if count() == 1:
        return action()
    error = result = None
    try:
        result = action()
    except InputError as raised:
        error = str(raised)
    errors = all_have(error)
    if error is not None:
        raise CommonError(error)
    for i, text in enumerate(errors):
        if text is not None:
            raise CommonError(f"host {i}: {text}")
    return result


def all_have(value: Any) -> list:
    """Returns the values of all hosts, in their order.

    Args:
        value: JSON-able, this host's value.
    """
    if count() == 1:
        return [value]
    client, name = compat.coordination_client(), _next_name("values")
    client.key_value_set(f"{name}/{index()}", json.dumps(value))
    return [
        json.loads(client.blocking_key_value_get(f"{name}/{i}", _FOREVER))
        for i in range(count())
    ]


def agreed_stop(
    asked: Callable[[], bool],
) -> contextlib.AbstractContextManager[Callable[[], bool]]:
    """A context with a function to call after each step; True means stop.

    It has to be called equally often on all hosts, and becomes true on all at
    the same call.

    Args:
        asked: callable; true once this host was asked to stop.
    """
    if count() == 1:
        return contextlib.nullcontext(asked)
    return _StopAgreement(asked)


class _StopAgreement:
    """Implements `agreed_stop` for several hosts.

    A thread checks twice a second whether any host was asked to stop. If so,
    each host publishes its current step, and promises not to go beyond it until
    all have published theirs; all stop after the last of these steps. So steps
    cost nothing: a host waits only after its promise. JAX agrees on SIGTERM in
    this way (`multihost_utils.reached_preemption_sync_point`); here it may be
    any signal.
    """

    def __init__(self, asked):
        self._asked = asked
        self._name = _next_name("stop")
        self._client = compat.coordination_client()
        self._index, self._count = index(), count()
        self._changed = threading.Condition()
        self._steps = 0  # that have ended
        self._promised: int | None = None  # `_steps` at the promise
        self._last = None  # the step after which all stop
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Callable[[], bool]:
        self._thread.start()
        return self._step_ended

    def __exit__(self, *_):
        self._closed.set()
        # A host that was asked at the very end shouldn't wait for this one.
        with contextlib.suppress(Exception):  # A host may be lost.
            self._promise()
        self._thread.join()

    def _step_ended(self):
        with self._changed:
            self._changed.wait_for(
                lambda: self._promised is None or self._last is not None
            )
            self._steps += 1
            return self._last is not None and self._steps >= self._last

    def _watch(self):
        while not self._closed.wait(_POLL):
            # The service may fail to answer, or a host may be lost.
            with contextlib.suppress(Exception):
                if self._asked():
                    self._tell("asked", True)
                if self._told("asked"):
                    self._promise()
                    self._agree()
                    return

    def _promise(self):
        with self._changed:
            if self._promised is None:
                self._promised = self._steps
        self._tell("steps", self._promised)

    def _agree(self):
        while len(steps := self._told("steps")) < self._count:
            if self._closed.wait(_POLL / 10):
                return
        with self._changed:
            # The furthest host is in the step after those that it has ended.
            self._last = max(steps) + 1
            self._changed.notify_all()

    def _tell(self, what, value):
        name = f"{self._name}/{what}/{self._index}"
        self._client.key_value_set(name, json.dumps(value), True)

    def _told(self, what):
        """Values of the hosts that have published one."""
        pairs = self._client.key_value_dir_get(f"{self._name}/{what}/")
        return [json.loads(value) for _, value in pairs]


def synchronized(model: keras.Model) -> keras.Model:
    """Returns the model with variables that are up to date."""
    # On JAX, Keras keeps their values elsewhere while `fit` runs.
    sync = getattr(model, "jax_state_sync", None)
    if sync is not None:
        sync()
    return model


def _next_name(kind):
    """A new name, equal on all hosts, which ask for them in the same order."""
    return f"{_PREFIX}/{kind}/{next(_numbers)}"
