"""Other processes, as /proc shows them."""

import pathlib
import time


def children(process_id):
    """Process ids of the children and theirs."""
    paths = pathlib.Path(f"/proc/{process_id}").glob("task/*/children")
    own = [int(n) for path in paths for n in path.read_text().split()]
    return own + [far for child in own for far in children(child)]


def is_worker(process_id):
    command = pathlib.Path(f"/proc/{process_id}/cmdline").read_bytes()
    return b"keras_transformer.system.workers" in command


def wait_until_gone(process_ids):
    deadline = time.monotonic() + 30
    while any(map(is_alive, process_ids)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_alive(process_id):
    """Whether a process runs; one that waits to be collected doesn't."""
    try:
        text = pathlib.Path(f"/proc/{process_id}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"
