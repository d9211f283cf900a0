"""Files that are either whole or not there."""

import contextlib
import hashlib
import json
import os
import pathlib

import yaml

from keras_transformer.errors import InputError


@contextlib.contextmanager
def replacing(path, suffix=""):
    """A temporary path that takes the place of `path` on success.

    Args:
        path: the goal; what stands there stays until the end. A link is
            followed, and a device or pipe is written to as it is.
        suffix: of the temporary name, for writers that insist on one.

    Yields:
        `pathlib.Path` in the goal's folder. On an error it is removed.
    """
    path = pathlib.Path(os.path.realpath(path))
    if path.exists() and not path.is_file():
        yield path
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp{suffix}")
    try:
        yield temporary
        with open(temporary, "rb") as file:
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and not error.filename:
            # A full disk is told by the file that was being written.
            error.filename = str(path)
        raise


def remove_leftovers(folder):
    """Removes temporary files that killed processes left in a folder."""
    for path in pathlib.Path(folder).rglob(".*.tmp*"):
        if path.is_file():
            path.unlink(missing_ok=True)


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


def read_yaml(path) -> dict:
    """The mapping in a YAML file.

    Raises:
        InputError: the file can't be read, isn't YAML, or has a key twice.
    """
    try:
        with open(path, encoding="utf-8") as file:
            return yaml.load(file, _UniqueKeys) or {}
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark else ""
        problem = "not a YAML file"
        if isinstance(error, _KeyTwice):
            problem = error.problem
        raise InputError(f"{path}{line}: {problem}") from None


class _KeyTwice(yaml.MarkedYAMLError):
    """A key of a mapping that stands there a second time."""


class _UniqueKeys(yaml.SafeLoader):
    """Refuses a key that stands twice, where YAML would drop the first."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                problem = f"{key.value} stands here a second time"
                raise _KeyTwice(None, None, problem, key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def sha256(path) -> str:
    """The SHA-256 of a file's content, hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
