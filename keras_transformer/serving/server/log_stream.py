"""Non-blocking log stream, in place of `sys.stderr`.

A pipe has a buffer of 64 KiB; a thread that writes more blocks until the reader
continues, while it holds its locks.
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

# Metric of this package; TensorFlow Serving has no such log.
DROPPED_LINES = ":keras_transformer:serving:log_lines_dropped"
# Maximum bytes of queued lines.
_CAPACITY = 4 * 2**20
_TICK = 0.01  # seconds between checks whether everything is written


class LogStream(io.TextIOBase):
    """Text stream whose lines are written by a thread, so writers don't block.

    If the file's reader stalls, the queue fills; lines that don't fit in it are
    dropped and counted.

    Args:
        descriptor: descriptor of the file to write to. It is duplicated, not
            closed.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = os.dup(descriptor)
        self._beginning = threading.local()  # of each thread's line
        # Both are reentrant, as Python may emit a warning at any moment.
        self._lock = threading.RLock()
        self._queue: queue.SimpleQueue = queue.SimpleQueue()
        self._bytes = 0  # of queued lines and the one being written
        self._dropped = 0
        threading.Thread(
            target=self._keep_writing, name="log", daemon=True
        ).start()

    def write(self, text: str) -> int:
        """Queues the lines that the text completes."""
        text_so_far = getattr(self._beginning, "text", "") + text
        *lines, self._beginning.text = text_so_far.split("\n")
        for line in lines:
            self._put(f"{line}\n".encode("utf-8", "backslashreplace"))
        return len(text)

    def writable(self) -> bool:
        """True; called by `io`."""
        return True

    def dropped(self) -> int:
        """Returns the number of lines dropped so far."""
        return self._dropped

    def wait(self, seconds: float) -> bool:
        """Waits until all lines are written, at most `seconds`.

        Returns:
            True if all lines are written.
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
                # A full disk or a closed pipe only loses lines.
                self._dropped += bool(rest)
                self._bytes -= len(line)


@contextlib.contextmanager
def unblocked_stderr() -> Iterator[LogStream]:
    """Keeps a stalled reader of stderr from blocking this process.

    Replaces `sys.stderr` with a `LogStream`, also for logging, warnings and
    tracebacks. For C++ code the descriptor becomes non-blocking if it is a
    pipe or a terminal: writes that would block are lost.

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
    """Opens a descriptor's file again as non-blocking; None if impossible."""
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)):
        return None
    flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY
    try:
        # Setting O_NONBLOCK on the descriptor would affect all processes that
        # share it.
        return os.open(f"/proc/self/fd/{descriptor}", flags)
    except OSError:
        return None
