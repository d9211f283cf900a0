"""Functions in processes that end in time, with all that these start."""

import contextlib
import multiprocessing
import os
import signal
import time


def in_group(function, until: float, *arguments) -> str | None:
    """Calls a function in a process of its own.

    Args:
        function: that another process can import.
        until: when it is ended, with the processes that it has started, as
            `time.time` counts.
        *arguments: of the function.

    Returns:
        why it failed; None: it didn't.
    """
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_lead, args=(function, arguments))
    process.start()
    try:
        process.join(max(0, until - time.time()))
    finally:  # Also after Ctrl-C, which another group doesn't get.
        in_time = not process.is_alive()
        with contextlib.suppress(ProcessLookupError):  # It leads no group yet.
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.join()
    if not in_time:
        return "cut off: the time is over"
    status = process.exitcode
    return f"exit status {status}, see above" if status else None


def _lead(function, arguments):
    os.setpgrp()
    function(*arguments)
