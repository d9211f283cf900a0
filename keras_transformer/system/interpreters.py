"""Child interpreters: Python processes that this one starts.

They start with `python -P`: they don't import modules from the current folder,
where a corpus or a model from elsewhere may have been unpacked.
"""

import contextlib
import os
import pathlib
import sys
from collections.abc import Iterator

_SAFE_PATH = "PYTHONSAFEPATH"
_ROOT = pathlib.Path(__file__).resolve().parents[2]


def module_command(module: str) -> list[str]:
    """The command line that runs a module in a new interpreter."""
    return [sys.executable, "-P", "-m", module]


def child_environment() -> dict[str, str]:
    """This process's environment, extended so that a child finds the package.

    The child's own children don't import from the current folder, either.
    """
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return {
        **os.environ,
        # An empty one would be the current folder.
        "PYTHONPATH": os.pathsep.join([str(_ROOT), *filter(None, paths)]),
        _SAFE_PATH: "1",
    }


def safe_path() -> contextlib.AbstractContextManager:
    """Keeps interpreters started in the block from the current folder.

    For interpreters that a library starts, such as Spark's.
    """
    return environment_variable(_SAFE_PATH, "1")


@contextlib.contextmanager
def environment_variable(name: str, value: str) -> Iterator[None]:
    """Sets an environment variable for the duration of the block."""
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def leave_current_folder() -> None:
    """Removes the current folder from the module search path.

    `python -m` puts it first. It is kept if this package is in it.
    """
    try:
        here = str(pathlib.Path.cwd())
    except FileNotFoundError:  # It was removed.
        return
    if sys.path[:1] == [here] and here != str(_ROOT):
        del sys.path[0]
