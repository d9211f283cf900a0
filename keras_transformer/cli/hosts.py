"""Several hosts on the command line: options by which `train` joins them."""

from __future__ import annotations

import argparse
import contextlib
import re
import time
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import TYPE_CHECKING

from keras_transformer.cli.console import say_as, tell_error
from keras_transformer.cli.options import add_options, flag, integer
from keras_transformer.errors import InputError
from keras_transformer.training.joining import LAUNCHERS, STATUS, Meeting
from keras_transformer.version import versions

if TYPE_CHECKING:
    from keras_transformer.training.run import Run


JOIN_SECONDS = 300
_TIME_TO_TELL = 2.0  # seconds
_BY_HAND = ("coordinator", "num_processes", "process_id")
# Options that hosts may differ in: of files, the content is compared.
_OWN = ("process_id", "data", "out", "initial", "config", "join_timeout")


def add_host_options(parser: argparse.ArgumentParser) -> None:
    """Adds `--hosts`, and `--coordinator` with the options that it needs."""
    parser.add_argument(
        "--hosts",
        nargs="?",
        const="auto",
        choices=LAUNCHERS,
        help="train together with the hosts that JAX finds by itself: those "
        "of Slurm, Open MPI, Kubernetes or Cloud TPU (auto, the default), or "
        "of the one that is named; with --backend jax",
    )
    coordinator = (
        "or with hosts that are started by hand: where the first of them "
        "listens, the same for all"
    )
    add_options(parser, {"--coordinator HOST:PORT": coordinator})
    index = "which of them this is, from 0, the first"
    add_options(parser, {"--process-id I": index}, type=int)
    add_options(
        parser,
        {
            "--num-processes N": "how many hosts there are",
            "--join-timeout SECONDS": "how long hosts wait for each other "
            f"(default: {JOIN_SECONDS})",
        },
        type=integer(1),
    )


def meeting(
    arguments: argparse.Namespace, backend: str | None
) -> Meeting | None:
    """Where the hosts meet; None: this process trains alone.

    Args:
        arguments: parsed, with the options of `add_host_options`.
        backend: "tensorflow" or "jax".

    Raises:
        InputError: options that don't fit together, or wrong numbers.
    """
    given = [name for name in _BY_HAND if getattr(arguments, name) is not None]
    seconds = arguments.join_timeout
    if arguments.hosts is None and not given:
        if seconds is not None:
            raise InputError(
                "--join-timeout is for hosts. Accepted with it: --hosts, or "
                "--coordinator"
            )
        return None
    if backend != "jax":
        first = flag(given[0]) if arguments.hosts is None else "--hosts"
        raise InputError(
            f"{first}: several hosts train on JAX alone. Accepted: "
            "--backend jax"
        )
    seconds = seconds or JOIN_SECONDS
    if not given:
        return Meeting(seconds, arguments.hosts)
    _check_together(arguments, given)
    _check_values(arguments)
    by_hand = {
        "coordinator": arguments.coordinator,
        "count": arguments.num_processes,
        "index": arguments.process_id,
    }
    return Meeting(seconds, **by_hand)


@contextlib.contextmanager
def joined(
    meeting: Meeting | None, arguments: argparse.Namespace
) -> Iterator[Callable[[Run], None]]:
    """Joins the other hosts for the duration of the block.

    Args:
        meeting: where the hosts meet; None: this process trains alone.
        arguments: parsed; except for paths, the same on all hosts.

    Yields:
        a function to call with the `Run`, so that errors say how to resume it.

    Raises:
        InputError: the hosts couldn't be joined, or differ, or one was lost.
    """
    from keras_transformer.training import hosts, joining
    from keras_transformer.training.checkpoint import Interrupted

    if meeting is None:
        yield lambda run: None
        return
    membership = joining.Membership(meeting, tell_error)
    if not hosts.is_chief():
        say_as(f"host {hosts.index()}")

    def goes_on(run):
        membership.remedy = (
            f"; {run.folder} goes on with keras-transformer train ... --resume"
        )

    try:
        _check_same(arguments)
        yield goes_on
    except hosts.CommonError:
        membership.leave()
        raise
    except Interrupted:
        membership.leave()
        if not hosts.is_chief():  # The chief reports it for all.
            raise SystemExit(STATUS) from None
        raise
    except Exception as error:
        # JAX may meanwhile report which host is lost, and end the process. If
        # this is the first host, the others get time to report their errors.
        time.sleep(_TIME_TO_TELL)
        line = str(error).partition("\n")[0]
        of_jax = type(error).__name__ == "JaxRuntimeError" or "Gloo" in line
        if not of_jax or line.startswith("RESOURCE_EXHAUSTED"):
            raise
        raise InputError(
            f"another host is dead or can't be reached ({line[:200]})"
            f"{membership.remedy}"
        ) from None
    membership.leave()


def _check_same(arguments):
    """Refuses hosts that were started with other options or versions."""
    from keras_transformer.training import hosts

    ours = {k: v for k, v in vars(arguments).items() if k not in _OWN}
    # One entry per setting, so that a message names the one that differs.
    ours |= dict(setting.split("=", 1) for _, setting in ours.pop("set"))
    ours = {**ours, **versions(), "jax": metadata.version("jax")}
    ours.pop("python")
    theirs = hosts.from_chief(ours)

    def check():
        differing = [
            f"{name} is {theirs.get(name)} there, {ours.get(name)} here"
            for name in {**theirs, **ours}
            if theirs.get(name) != ours.get(name)
        ]
        if differing:
            raise InputError(
                f"started otherwise than host 0: {'; '.join(differing)}. "
                "Accepted: the same options and versions on all hosts"
            )

    hosts.together(check)


def _check_together(arguments, given):
    missing = [flag(name) for name in _BY_HAND if name not in given]
    if missing:
        raise InputError(
            f"{flag(given[0])} needs {' and '.join(missing)}. Accepted: all of "
            f"{', '.join(map(flag, _BY_HAND))}, or --hosts"
        )
    if arguments.hosts not in (None, "auto"):
        raise InputError(
            f"--hosts {arguments.hosts} already names the hosts. Accepted with "
            "--coordinator: --hosts alone, or without it"
        )


def _check_values(arguments):
    count, index = arguments.num_processes, arguments.process_id
    if not 0 <= index < count:
        raise InputError(
            f"--process-id must be 0 to {count - 1} with --num-processes "
            f"{count}. Received: {index}"
        )
    match = re.fullmatch(r"(.*[^:]|\[.+\]):(\d+)", arguments.coordinator)
    if not match or not 1 <= int(match[2]) <= 65535:
        raise InputError(
            "--coordinator must be HOST:PORT, with a port of 1 to 65535. "
            f"Received: {arguments.coordinator}"
        )
