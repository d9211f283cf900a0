"""Ownership: which process trains a run, and which run a file is of."""

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

    The chief has the lock for all hosts.

    Args:
        folder: the run's; nothing is locked where there is none.

    Raises:
        InputError: another process trains it.
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
        path: of the part.
        what: the part, in words.
        theirs: the id of the run that wrote it; None: one without.
        ours: the id of the run whose folder it is in.

    Raises:
        InputError: the ids differ.
    """
    if theirs != ours:
        ids = [str(value)[:8] if value else "none" for value in (theirs, ours)]
        raise InputError(
            f"{path}: {what} of another run (run id {ids[0]}, and not "
            f"{ids[1]}). Accepted: what this run wrote"
        )
