"""Joining: connects a process to the other hosts, within a time limit.

The first host listens at the coordinator's address, where JAX connects the
others to it. Nothing may be computed before that; afterwards JAX lists the
devices of all hosts.
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

# JAX's names for its ways to find hosts; auto: any but mpi4py, which has to be
# requested.
LAUNCHERS = ("auto", "slurm", "ompi", "mpi4py", "k8s")
# Seconds without a heartbeat after which a host counts as lost.
LOST_AFTER = 30
STATUS = 2  # exit status of a process that ends because of other hosts
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
        seconds: time limit, after which a missing host is an error.
        launcher: one of `LAUNCHERS`, used without a coordinator.
        coordinator: `HOST:PORT` at which the first host listens, or None.
        count: number of hosts, with a coordinator.
        index: the number of this host, with a coordinator.
    """

    seconds: int
    launcher: str = "auto"
    coordinator: str | None = None
    count: int | None = None
    index: int | None = None


class Membership:
    """This process as one of the hosts, from joining until leaving.

    Nothing may be computed before. Joins by JAX and not by
    `keras.distribution.initialize`, which sets random seeds and so would clear
    SentencePiece's tokenizers.

    When a host is lost, JAX prints the reason and aborts, and `tell` adds a
    line. A process that exits by an error doesn't wait for the other hosts, as
    it would by default.

    Args:
        meeting: where hosts meet.
        tell: prints a line, from any thread, before the process is ended.

    Raises:
        InputError: the hosts couldn't be joined in time.
    """

    def __init__(self, meeting: Meeting, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._left = False
        # The end of the line printed at an abort: how to continue.
        self.remedy = f". {_ACCEPTED}"
        deadline = time.monotonic() + meeting.seconds
        if meeting.index:
            _await_coordinator(meeting, deadline)
        # Kept in an attribute for as long as it may be called. Not
        # `signal.signal`: Python's handlers run in the main thread, but the
        # abort of another thread ends the process before that.
        self._handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(self._aborted)
        ctypes.CDLL(None).signal(signal.SIGABRT, self._handler)
        atexit.register(self._exit)
        self._join(meeting, deadline)
        self.remedy = ""

    def leave(self) -> None:
        """Waits for all hosts and disconnects from them."""
        import jax

        jax.distributed.shutdown()
        self._left = True

    def _join(self, meeting, deadline):
        import jax

        # It would catch SIGTERM; `hosts.agreed_stop` is for any signal.
        jax.config.update("jax_enable_preemption_service", False)
        left = max(1, round(deadline - time.monotonic()))
        # The wait is in C++, where Python's handlers don't run at Ctrl-C.
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
    """Makes Keras split each batch over all devices of all hosts."""
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
        # By default JAX gives each process one GPU only.
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
    """Indices of the GPUs that this process may use, or None without any."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        count = len([name for name in visible.split(",") if name.strip()])
    else:
        count = len(list(pathlib.Path("/dev").glob("nvidia[0-9]*")))
    return list(range(count)) or None
