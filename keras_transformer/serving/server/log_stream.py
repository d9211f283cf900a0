"""Log stream: lines for stderr, which nobody has to wait for.

A server whose log isn't read goes on: a pipe takes 64 KiB, and whoever writes
more waits for its reader, with all locks that it holds.
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
    """A stream for lines, in place of `sys.stderr`, that makes nobody wait.

    Lines are queued, and a thread writes them. Where nobody reads what it
    wrote, such as from a full pipe, the queue fills; from then on lines are
    dropped and counted, until all that was queued is written and a line has
    said how many are missing.

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
        self._lines: collections.deque = collections.deque()
        self._queued = 0  # bytes, with those that are being written
        self._dropped = self._untold = 0
        self._failed = False  # the last line couldn't be written
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
        """Whether it can be written to, as `io` asks."""
        return True

    def dropped(self) -> int:
        """How many lines were dropped so far."""
        return self._dropped

    def wait(self, seconds: float) -> bool:
        """Waits until all is written, or so long.

        Returns:
            whether all is.
        """
        with self._condition:
            return self._condition.wait_for(self._is_idle, seconds)

    def _put(self, line):
        with self._condition:
            # What is missing has to be told at its place first.
            closed = self._untold and not self._failed
            if closed or self._queued + len(line) > self._capacity:
                self._drop(1)
                return
            self._lines.append(line)
            self._queued += len(line)
            self._condition.notify_all()

    def _drop(self, count):
        self._dropped += count
        self._untold += count

    def _keep_writing(self):
        while True:
            with self._condition:
                self._condition.wait_for(self._has_work)
                # Lines in the queue came before those that were dropped.
                told = 0 if self._lines and not self._failed else self._untold
                line = _note(told) if told else self._lines.popleft()
            written = self._try_to_write(line)
            with self._condition:
                self._note_written(line, told, written)
                self._condition.notify_all()

    def _has_work(self):
        return self._lines or (self._untold and not self._failed)

    def _is_idle(self):
        return not (self._queued or self._has_work())

    def _try_to_write(self, line):
        try:
            while line:
                line = line[os.write(self._descriptor, line) :]
        except OSError:
            return False
        return True

    def _note_written(self, line, told, written):
        """Counts what was written, or couldn't be; with the lock held."""
        if not told:
            self._queued -= len(line)
        if written:
            self._untold -= told
        elif told:
            # The disk is full, or the reader has gone: so for these, too.
            self._drop(len(self._lines))
            self._queued -= sum(map(len, self._lines))
            self._lines.clear()
        else:
            self._drop(1)
        self._failed = not written


@contextlib.contextmanager
def unblocked_stderr() -> Iterator[LogStream]:
    """Has nothing in this process wait for the reader of its stderr.

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
    """The same file, opened so that writing doesn't wait; None: it can't be."""
    mode = os.fstat(descriptor).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)):
        return None
    flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY
    try:
        # Not O_NONBLOCK for the descriptor: who shares it has it set, too.
        return os.open(f"/proc/self/fd/{descriptor}", flags)
    except OSError:
        return None


def _note(count):
    lines = "line" if count == 1 else "lines"
    return f"log: {count} {lines} dropped, as nobody read them\n".encode()
