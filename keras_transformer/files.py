"""Files that are either whole or not there."""

import contextlib
import hashlib
import json
import os
import pathlib

from keras_transformer.errors import InputError


@contextlib.contextmanager
def replacing(path, suffix=""):
    """A temporary path that takes the place of `path` on success.

    Args:
        path: the goal; what stands there stays until the end.
        suffix: of the temporary name, for writers that insist on one.

    Yields:
        `pathlib.Path` in the goal's folder. On an error it is removed.
    """
    path = pathlib.Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp{suffix}")
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path, text: str):
    """Replaces the file's content at once, as UTF-8."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path, value):
    """Replaces the file's content at once by `value` as JSON."""
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def read_json(path) -> dict:
    """The JSON object in a file.

    Raises:
        InputError: it can't be read, or holds something else.
    """
    try:
        value = json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except ValueError:
        raise InputError(f"{path}: damaged, not a JSON file") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: damaged, not a JSON object")
    return value


def sha256(path) -> str:
    """The SHA-256 of a file's content, hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def versions() -> dict:
    """Versions of what makes the project's artefacts, by package name."""
    import importlib.metadata
    import platform

    from keras_transformer.version import __version__

    found = {"keras_transformer": __version__}
    found["python"] = platform.python_version()
    for name in ("tensorflow", "keras", "tensorflow-text", "sentencepiece"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
