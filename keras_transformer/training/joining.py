"""Joining: how a process finds the other hosts, within a time limit.

The first host listens at the coordinator's address, where JAX connects the
others to it. Before that nothing may be computed; afterwards the devices of
all hosts are one list.
"""

import atexit
import ctypes
import dataclasses
import os
import pathlib
import signal
import socket
import sys
import time
from collections.abc import Callable

from keras_transformer.errors import InputError

# Ways in which JAX finds hosts by itself, as it calls them; auto: any but
# mpi4py, which wants to be asked for.
LAUNCHERS = ("auto", "slurm", "ompi", "mpi4py", "k8s")
# Seconds without a sign of life after which a host is given up.
LOST_AFTER = 30
STATUS = 2  # of a process that ends because of other hosts
_CONNECT_SECONDS = 5
_ACCEPTED = (
    "Accepted: --hosts under Slurm, Open MPI, Kubernetes with jax[k8s] or on "
    "Cloud TPU; or the same --coordinator and --num-processes on all, each "
    "with a --process-id of its own"
)


@dataclasses.dataclass(frozen=True)
class Meeting:
    """Where hosts meet, and how long they wait for each other.

    Attributes:
        seconds: after which a host that is missing is an error.
        launcher: one of `LAUNCHERS`, which says the rest.
        coordinator: or `HOST:PORT`, at which the first host listens.
        count: number of hosts, with a coordinator.
        index: the number of this one, with a coordinator.
    """

    seconds: int
    launcher: str = "auto"
    coordinator: str | None = None
    count: int | None = None
    index: int | None = None


class Membership:
    """This process as one of the hosts, from when it joins until it leaves.

    Nothing may be computed before, and SentencePiece's tokenizers may not be
    there yet: Keras' own way to join sets its random seed, which clears them.

    JAX prints why and aborts when a host is lost. A line follows that, and an
    exit by an error doesn't wait for the other hosts, as JAX would.

    Args:
        meeting: where the hosts are.
        tell: prints a line, from any thread, before the process is ended.

    Raises:
        InputError: the hosts couldn't be joined in time.
    """

    def __init__(self, meeting: Meeting, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._left = False
        # What the line of an abort ends with: how training goes on.
        self.remedy = f". {_ACCEPTED}"
        deadline = time.monotonic() + meeting.seconds
        if meeting.index:
            _await_coordinator(meeting, deadline)
        # Referred to as long as it may be called. Python's own handlers run
        # in the main thread, where the thread that aborts never gets to.
        self._handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(self._aborted)
        ctypes.CDLL(None).signal(signal.SIGABRT, self._handler)
        atexit.register(self._exit)
        self._join(meeting, deadline)
        self.remedy = ""

    def leave(self) -> None:
        """Waits for all hosts, and parts from them."""
        import jax

        jax.distributed.shutdown()
        self._left = True

    def _join(self, meeting, deadline):
        import jax

        # It would catch SIGTERM; `hosts.agreed_stop` is for any signal.
        jax.config.update("jax_enable_preemption_service", False)
        left = max(1, round(deadline - time.monotonic()))
        # C++ waits: Python wouldn't see Ctrl-C before that ends.
        signals = (signal.SIGINT, signal.SIGTERM)
        handlers = [signal.signal(n, signal.SIG_DFL) for n in signals]
        try:
            jax.distributed.initialize(
                initialization_timeout=left,
                heartbeat_timeout_seconds=LOST_AFTER,
                **_where(meeting),
            )
        except (RuntimeError, ValueError, KeyError) as error:
            line = str(error).partition("\n")[0]
            raise InputError(
                f"the hosts weren't joined ({line}). {_ACCEPTED}"
            ) from None
        for number, handler in zip(signals, handlers, strict=True):
            signal.signal(number, handler)

    def _aborted(self, number):
        self._tell(f"JAX has ended this host, as it says above{self.remedy}")
        self._exit()

    def _exit(self):
        if not self._left:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(STATUS)


def use_all_devices() -> None:
    """Has Keras share each batch among all devices, those of all hosts."""
    import jax
    import keras

    if jax.device_count() > 1:
        # Each host reads its own rows: `data.batching`.
        keras.distribution.set_distribution(
            keras.distribution.DataParallel(auto_shard_dataset=False)
        )


def _where(meeting):
    """Arguments of `jax.distributed.initialize`."""
    if meeting.coordinator is not None:
        return {
            "coordinator_address": meeting.coordinator,
            "num_processes": meeting.count,
            "process_id": meeting.index,
            "cluster_detection_method": "deactivate",
        }
    options = {}
    if meeting.launcher != "auto":
        options["cluster_detection_method"] = meeting.launcher
    if _is_alone_on_machine():
        # JAX would take one GPU for each process.
        options["local_device_ids"] = _visible_gpus()
    return options


def _await_coordinator(meeting, deadline):
    """Waits until the first host listens."""
    host, _, port = meeting.coordinator.rpartition(":")
    while True:
        try:
            address = host.strip("[]"), int(port)
            socket.create_connection(address, _CONNECT_SECONDS).close()
            return
        except OSError as error:
            if time.monotonic() >= deadline:
                reason = error.strerror or str(error)
                raise InputError(
                    f"--coordinator {meeting.coordinator}: not reached within "
                    f"{meeting.seconds} s ({reason}). Accepted: the address at "
                    "which the host with --process-id 0 listens"
                ) from None
        time.sleep(0.2)


def _is_alone_on_machine():
    """True if the launcher has started one process on this machine."""
    sizes = ("SLURM_STEP_TASKS_PER_NODE", "OMPI_COMM_WORLD_LOCAL_SIZE")
    given = [os.environ[name] for name in sizes if name in os.environ]
    # Slurm has "1", "1(x4)", or "2,1" where machines differ.
    return bool(given) and given[0].partition("(")[0] == "1"


def _visible_gpus():
    """Numbers of the GPUs that this process may use; None: there are none."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        count = len([name for name in visible.split(",") if name.strip()])
    else:
        count = len(list(pathlib.Path("/dev").glob("nvidia[0-9]*")))
    return list(range(count)) or None
