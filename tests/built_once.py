"""Folders that all test processes share, each made by the first that asks.

For what takes long to make and is only read: a run, an export.
"""

import fcntl
import os
import shutil


def built_once(tmp_path_factory, name, build):
    """The folder `name`; `build(folder)` makes it, once in all processes.

    Args:
        tmp_path_factory: pytest's.
        name: one path component, unique in the suite.
        build: gets the path of a folder that isn't there yet.
    """
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    folder, done = root / name, root / f"{name}.done"
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            # What a process that failed has left.
            shutil.rmtree(folder, ignore_errors=True)
            build(folder)
            done.touch()
    return folder
