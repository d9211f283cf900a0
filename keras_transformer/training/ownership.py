"""Ownership: the process that trains a run, and the run of a file."""

import contextlib
import os
import pathlib
from collections.abc import Iterator

from keras_transformer.errors import InputError
from keras_transformer.system.locks import locked
from keras_transformer.training import hosts


@contextlib.contextmanager
def being_trained(folder: str | os.PathLike) -> Iterator[None]:
    """Keeps other processes from training a run while the block lasts.

    The chief holds the lock for all hosts.

    Args:
        folder: the run's folder; nothing is locked if it doesn't exist.

    Raises:
        InputError: another process trains the run.
    """
    folder = pathlib.Path(folder)
    doing = (
        "trains this run. Accepted: another --out, or --resume when that "
        "process has ended"
    )
    with contextlib.ExitStack() as held:

        @hosts.by_chief
        def take():
            if folder.is_dir():
                held.enter_context(locked(folder / "lock", folder, doing))

        hosts.together(take)
        yield


def check_owner(
    path: str | os.PathLike, what: str, theirs: str | None, ours: str | None
) -> None:
    """Refuses a part of a run that another run wrote.

    Args:
        path: file of the part.
        what: the part, for the message.
        theirs: the id of the run that wrote it; None: the part has no id.
        ours: the id of the run whose folder it is in.

    Raises:
        InputError: the ids differ.
    """
    if theirs != ours:
        ids = [str(value)[:8] if value else "none" for value in (theirs, ours)]
        raise InputError(
            f"{path}: {what} of another run (run id {ids[0]}, not "
            f"{ids[1]}). Accepted: files that this run wrote"
        )
