"""Non-blocking log stream, in place of `sys.stderr`.

A pipe takes 64 KiB; a thread that writes more waits for its reader, with all
locks that it holds.
"""

import collections
import contextlib
import io
import os
import stat
import sys
import threading
from collections.abc import Iterator

# Not one of TensorFlow Serving's, which has no such log.
DROPPED_LINES = ":keras_transformer:serving:log_lines_dropped"
# Bytes of lines that wait to be written.
_CAPACITY = 4 * 2**20


class LogStream(io.TextIOBase):
    """Text stream whose lines a thread writes, so that no writer waits.

    Where nothing reads what it wrote, such as from a full pipe, the queue
    fills; from then on lines are dropped and counted, until all that was queued
    is written and a line says how many are missing.

    Args:
        descriptor: of the file to write to. It is duplicated, not closed.
        capacity: bytes of lines in the queue.
    """

    def __init__(self, descriptor: int, capacity: int = _CAPACITY) -> None:
        self._descriptor = os.dup(descriptor)
        self._capacity = capacity
        self._beginning = threading.local()  # of a line, each thread's own
        # It can be entered again: Python may warn at any moment.
        self._condition = threading.Condition(threading.RLock())
        # Lines, and at the end the number of those that were dropped there.
        self._queue: collections.deque = collections.deque()
        self._bytes = 0  # of lines, with the one that is being written
        self._dropped = 0
        self._is_writing = False
        self._thread = threading.Thread(
            target=self._keep_writing, name="log", daemon=True
        )
        self._thread.start()

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
        with self._condition:
            return self._condition.wait_for(
                lambda: not (self._queue or self._is_writing), seconds
            )

    def _put(self, line):
        with self._condition:
            if self._queue and isinstance(self._queue[-1], int):
                self._queue[-1] += 1  # Its place in the log is there.
                self._dropped += 1
            elif self._bytes + len(line) > self._capacity:
                self._queue.append(1)
                self._dropped += 1
            else:
                self._queue.append(line)
                self._bytes += len(line)
            self._condition.notify_all()

    def _keep_writing(self):
        lost = 0  # lines, since the last note that was written
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._queue)
                item = self._queue.popleft()
                self._is_writing = True
            is_line = isinstance(item, bytes)
            lost += 0 if is_line else item
            note = _note(lost) if lost else b""
            written = self._try_to_write(note + item if is_line else note)
            with self._condition:
                # A full disk, or a reader that has gone, costs lines only.
                lost = 0 if written else lost + is_line
                if is_line:
                    self._bytes -= len(item)
                    self._dropped += not written
                self._is_writing = False
                self._condition.notify_all()

    def _try_to_write(self, data):
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:
            return False
        return True


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


def _note(count):
    lines = "line" if count == 1 else "lines"
    return f"log: {count} {lines} dropped, as stderr was not read\n".encode()
