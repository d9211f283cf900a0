"""Child interpreters: processes of Python that this one starts.

None imports what lies in the current folder, where a corpus or a model from
elsewhere may have been unpacked: they start as `python -P` does.
"""

import contextlib
import os
import pathlib
import sys
from collections.abc import Iterator

_SAFE_PATH = "PYTHONSAFEPATH"
_ROOT = pathlib.Path(__file__).resolve().parents[2]


def module_command(module: str) -> list[str]:
    """The words that run a module in an interpreter of its own."""
    return [sys.executable, "-P", "-m", module]


def child_environment() -> dict[str, str]:
    """This process's environment, in which the package is there for a child.

    Its children, too, don't import from the current folder.
    """
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return {
        **os.environ,
        # An empty one would be the current folder.
        "PYTHONPATH": os.pathsep.join([str(_ROOT), *filter(None, paths)]),
        _SAFE_PATH: "1",
    }


def safe_path() -> contextlib.AbstractContextManager:
    """Has interpreters that are started in the block start safe.

    For those that others start, as Spark does.
    """
    return environment_variable(_SAFE_PATH, "1")


@contextlib.contextmanager
def environment_variable(name: str, value: str) -> Iterator[None]:
    """Gives a variable of the environment a value in the block."""
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
    """Takes the current folder out of where modules are looked for.

    `python -m` puts it first. It stays where it has this package.
    """
    here = str(pathlib.Path.cwd())
    if sys.path[:1] == [here] and here != str(_ROOT):
        del sys.path[0]
