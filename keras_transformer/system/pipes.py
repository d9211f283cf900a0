"""Files that may be pipes: opened without an endless wait for a writer."""

import io
import os
import stat
import time

from keras_transformer.errors import InputError

_GRACE = 1.0  # seconds in which a writer has to open it
_POLL = 0.05


def open_file(path: str | os.PathLike) -> io.BufferedReader:
    """Opens a file for reading, as bytes.

    A pipe has to be opened for writing by another process, as shells do for
    `<(...)`.

    Raises:
        InputError: it is a pipe without a writer.
        OSError: it can't be opened.
    """
    # By the name that was given: `Path` drops a slash at its end.
    if not stat.S_ISFIFO(os.stat(path).st_mode):  # noqa: PTH116
        return open(path, "rb")  # noqa: PTH123
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        first = _first_byte(descriptor)
        if first == b"":
            raise InputError(
                f"{path}: a pipe without a writer. Accepted: a file, or "
                "a pipe that is written to"
            )
        os.set_blocking(descriptor, True)
    except BaseException:
        os.close(descriptor)
        raise
    return io.BufferedReader(_Pipe(descriptor, first))


def _first_byte(descriptor) -> bytes | None:
    """The first byte; None: not there yet; empty: no writer."""
    deadline = time.monotonic() + _GRACE
    while True:
        try:
            first = os.read(descriptor, 1)
        except BlockingIOError:
            return None
        if first or time.monotonic() > deadline:
            return first
        time.sleep(_POLL)


class _Pipe(io.FileIO):
    """A pipe whose first byte was read already.

    Args:
        descriptor: of the pipe; closed with this.
        first: the byte, or None.
    """

    def __init__(self, descriptor, first):
        super().__init__(descriptor, "rb")
        self._first = first or b""

    def readinto(self, buffer):
        if not self._first:
            return super().readinto(buffer)
        buffer[:1], self._first = self._first, b""
        # More than that byte, for those who look at the first two.
        return 1 + (super().readinto(memoryview(buffer)[1:]) or 0)
