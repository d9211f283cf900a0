"""Lost hosts: one line, where JAX would print a C++ stack and abort.

When hosts don't come, or one of them dies, JAX ends the process from a thread
of its own by `abort()`; no exception reaches Python. (It has a callback for
that, but JAX 0.10 can't call it from Python: `std::bad_cast`.) So what C++
code prints is kept in a file, and a handler of SIGABRT, which runs in the
thread that aborts, makes a line of it.
"""

import atexit
import ctypes
import os
import re
import signal
import sys
import tempfile
from collections.abc import Callable

STATUS = 2  # of a process that ends because of other hosts
_UNHEALTHY = re.compile(
    r"stopped sending heartbeats\):\s*((?:\S*?\d+\n)+)", flags=re.M
)


class Guard:
    """Says in a line why JAX ends this process, from now on.

    What C++ code prints on either output goes to a file; what Python prints
    goes on as before. An exit by an error doesn't wait for the other hosts,
    as JAX would.

    Args:
        explain: makes a line of what was printed; None: it isn't about hosts,
            and all of it is shown.
        tell: prints the line.
    """

    def __init__(
        self,
        explain: Callable[[str], str | None],
        tell: Callable[[str], None],
    ) -> None:
        self._explain = explain
        self._tell = tell
        self._left = False
        self._printed = tempfile.TemporaryFile()
        sys.stdout, sys.stderr = map(self._apart, (sys.stdout, sys.stderr))
        # Referred to as long as it may be called.
        self._handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(self._aborted)
        self._handle(ctypes.cast(self._handler, ctypes.c_void_p))
        atexit.register(self._exit)

    def leave(self) -> None:
        """From now on exits are as always."""
        self._left = True

    def _apart(self, stream):
        """The stream on a descriptor of its own; the old one is C++'s."""
        stream.flush()
        own = os.dup(stream.fileno())
        os.dup2(self._printed.fileno(), stream.fileno())
        return os.fdopen(
            own,
            "w",
            buffering=1,
            encoding=stream.encoding,
            errors=stream.errors,
        )

    def _handle(self, handler):
        """Sets the handler of SIGABRT; Python's own would come too late."""
        c_signal = ctypes.CDLL(None).signal
        c_signal.argtypes = [ctypes.c_int, ctypes.c_void_p]
        c_signal(signal.SIGABRT, handler)

    def _aborted(self, number):
        self._printed.seek(0)
        text = self._printed.read().decode(errors="replace")
        line = self._explain(text)
        if line is None:
            sys.stderr.write(text)
            sys.stderr.flush()
            self._handle(None)  # The default: it ends the process.
            return
        self._tell(line)
        self._end()

    def _exit(self):
        if not self._left:
            self._end()

    def _end(self):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(STATUS)


def lost(text: str) -> str | None:
    """Names the hosts that were lost, in half a sentence.

    Args:
        text: what JAX printed.

    Returns:
        None: the text isn't about lost hosts.
    """
    unhealthy = _UNHEALTHY.search(text)
    if unhealthy:
        numbers = re.findall(r"(\d+)\n", unhealthy[1])
        return f"host {' and host '.join(numbers)} is dead or can't be reached"
    if "Failed to send RPC to coordination service" in text:
        return "host 0 is dead or can't be reached"
    if "distributed service detected fatal errors" in text:
        return f"another host has failed: {status(text)}"
    return None


def status(text: str) -> str:
    """The first line of the status that JAX printed."""
    return text.partition("absl::Status: ")[2].partition("\n")[0]


def of_error(error: Exception, others: list[int]) -> str | None:
    """Names the hosts that were lost, by an error of a step or a barrier.

    Args:
        error: of JAX, when the devices of one host miss those of another.
        others: the numbers of all other hosts.
    """
    line = str(error).partition("\n")[0]
    if type(error).__name__ != "JaxRuntimeError" and "Gloo" not in line:
        return None
    if line.startswith("RESOURCE_EXHAUSTED"):
        return None
    if len(others) == 1:
        return f"host {others[0]} is dead or can't be reached"
    return f"another host is dead or can't be reached ({line[:200]})"
