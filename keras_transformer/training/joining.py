"""Joining: how a process finds the other hosts, within a time limit.

The first host listens at the coordinator's address, where JAX connects the
others to it. Before that nothing may be computed; afterwards the devices of
all hosts are one list.
"""

import dataclasses
import os
import pathlib
import socket
import threading
import time
from collections.abc import Callable

from keras_transformer.errors import InputError
from keras_transformer.training import lost_hosts

# Ways in which JAX finds hosts by itself, as it calls them; auto: any but
# mpi4py, which wants to be asked for.
LAUNCHERS = ("auto", "slurm", "ompi", "mpi4py", "k8s")
# Seconds without a sign of life after which a host is given up.
LOST_AFTER = 30
_CONNECT_SECONDS = 5


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

    Args:
        meeting: where the hosts are.
        tell: prints a line, from any thread, before the process is ended:
            why hosts couldn't join, or which was lost later.

    Raises:
        InputError: the coordinator couldn't be reached in time, or no launcher
            says where the hosts are.
    """

    def __init__(self, meeting: Meeting, tell: Callable[[str], None]) -> None:
        self._meeting = meeting
        self._joined = False
        # Advice after the message of a lost host: set once a run exists.
        self.remedy = ""
        deadline = time.monotonic() + meeting.seconds
        if meeting.index:
            _await_coordinator(meeting, deadline)
        self._guard = lost_hosts.Guard(self._explain, tell)
        _interruptible(lambda: self._join(deadline))
        self._joined = True

    def leave(self) -> None:
        """Waits for all hosts, and parts from them."""
        import jax

        jax.distributed.shutdown()
        self._guard.leave()

    def _join(self, deadline):
        import jax

        # It would catch SIGTERM; `hosts.agreed_stop` is for any signal.
        jax.config.update("jax_enable_preemption_service", False)
        left = max(1, round(deadline - time.monotonic()))
        try:
            jax.distributed.initialize(
                initialization_timeout=left,
                heartbeat_timeout_seconds=LOST_AFTER,
                **_where(self._meeting),
            )
        except (RuntimeError, ValueError, KeyError) as error:
            self._guard.leave()
            raise InputError(_why_not(self._meeting, error)) from None

    def _explain(self, text):
        if not self._joined:
            return _why_not(self._meeting, text)
        line = lost_hosts.lost(text)
        return line and f"{line}{self.remedy}"


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


def _interruptible(action):
    """Runs what waits in C++, so that Ctrl-C ends it."""
    errors = []

    def run():
        try:
            action()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(0.2)
    if errors:
        raise errors[0]


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


def _why_not(meeting, error):
    """The reason why hosts couldn't join, from JAX's message."""
    text = str(error)
    number = f"--process-id {meeting.index}"
    if "should be defined" in text or "must be defined" in text:
        return (
            "--hosts: no launcher says who they are. Accepted: to be started "
            "by Slurm, Open MPI, on Kubernetes with jax[k8s], on Cloud TPU, or "
            "with --coordinator, --num-processes and --process-id"
        )
    if "newer incarnation" in text:
        return f"{number}: another host was started with the same number"
    if "Unexpected task registered" in text:
        return (
            f"{number}: the first host was started with fewer hosts. Accepted: "
            "the same --num-processes on all"
        )
    if "DEADLINE_EXCEEDED" in text:
        hosts = f"{meeting.count} hosts" if meeting.count else "hosts"
        return (
            f"not all {hosts} came within {meeting.seconds} s. Accepted: "
            "the same coordinator and number of hosts on all, each with a "
            "number of its own"
        )
    reason = lost_hosts.status(text) or text.partition("\n")[0]
    return f"the hosts couldn't be joined: {reason}"
