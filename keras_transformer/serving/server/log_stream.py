"""Non-blocking log stream, in place of `sys.stderr`.

A pipe takes 64 KiB; a thread that writes more waits for its reader, with all
locks that it holds.
"""

import contextlib
import io
import os
import queue
import stat
import sys
import threading
import time
from collections.abc import Iterator

# Not one of TensorFlow Serving's, which has no such log.
DROPPED_LINES = ":keras_transformer:serving:log_lines_dropped"
# Bytes of lines that wait to be written.
_CAPACITY = 4 * 2**20
_TICK = 0.01  # seconds between two looks whether all is written


class LogStream(io.TextIOBase):
    """Text stream whose lines a thread writes, so that no writer waits.

    Where nothing reads what it wrote, such as from a full pipe, the queue
    fills; lines that have no room in it are dropped and counted.

    Args:
        descriptor: of the file to write to. It is duplicated, not closed.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = os.dup(descriptor)
        self._beginning = threading.local()  # of a line, each thread's own
        # Both can be entered again: Python may warn at any moment.
        self._lock = threading.RLock()
        self._queue: queue.SimpleQueue = queue.SimpleQueue()
        self._bytes = 0  # of lines, with the one that is being written
        self._dropped = 0
        threading.Thread(
            target=self._keep_writing, name="log", daemon=True
        ).start()

    def write(self, text: str) -> int:
        """Queues the lines that are complete with it."""
        text_so_far = getattr(self._beginning, "text", "") + text
        *lines, self._beginning.text = text_so_far.split("\n")
        for line in lines:
            self._put(f"{line}\n".encode("utf-8", "backslashreplace"))
        return len(text)

    def writable(self) -> bool:
        """True: `io` asks."""
        return True

    def dropped(self) -> int:
        """The number of lines that were dropped so far."""
        return self._dropped

    def wait(self, seconds: float) -> bool:
        """Waits until all is written, or so long.

        Returns:
            True if all is.
        """
        end = time.monotonic() + seconds
        while self._bytes and time.monotonic() < end:
            time.sleep(_TICK)
        return not self._bytes

    def _put(self, line):
        with self._lock:
            if self._bytes + len(line) > _CAPACITY:
                self._dropped += 1
            else:
                self._bytes += len(line)
                self._queue.put(line)

    def _keep_writing(self):
        while True:
            line = rest = self._queue.get()
            with contextlib.suppress(OSError):
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
            with self._lock:
                # A full disk, or a reader that has gone, costs lines only.
                self._dropped += bool(rest)
                self._bytes -= len(line)


@contextlib.contextmanager
def unblocked_stderr() -> Iterator[LogStream]:
    """Keeps this process from waiting for the reader of its stderr.

    `sys.stderr` is a `LogStream`, for logging, warnings and tracebacks, too.
    For code in C++ the descriptor itself doesn't wait, where it is a pipe or
    a terminal: what it writes then is lost.

    Yields:
        the stream.
    """
    before, kept = sys.stderr, os.dup(2)
    stream = LogStream(kept)
    impatient = _impatient_copy(kept)
    if impatient is not None:
        os.dup2(impatient, 2)
        os.close(impatient)
    sys.stderr = stream
    try:
        yield stream
    finally:
        stream.wait(1.0)
        sys.stderr = before
        os.dup2(kept, 2)
        os.close(kept)


def _impatient_copy(descriptor):
    """The same file opened without blocking; None if that can't be."""
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)):
        return None
    flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY
    try:
        # O_NONBLOCK of the descriptor would be set for all that share it.
        return os.open(f"/proc/self/fd/{descriptor}", flags)
    except OSError:
        return None
