"""Files and folders that are either whole or not there.

What is written has a hidden name until it is complete: a reader, a server
that watches the folder, and a kill at any moment see the old content or the
new. `writing` and `new_folder` word the errors of a full disk; `replacing`
leaves the system's error as it is, with the target's name. What is read may be
a pipe.
"""

import contextlib
import errno
import io
import json
import os
import pathlib
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from typing import Any

from keras_transformer.errors import InputError
from keras_transformer.system.leftovers import hidden, sweep

# Numbers of errors.
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Bytes of a file that is read as a whole. YAML is what a person writes.
LARGEST_JSON, _LARGEST_YAML = 1 << 24, 1 << 18
# Seconds in which a pipe's writer has to open it, and between two looks.
_GRACE, _POLL = 1.0, 0.05
# TensorFlow's code for a full disk, as `error_code` of its errors.
_RESOURCE_EXHAUSTED = 8


def as_paths(
    paths: str | os.PathLike | Iterable[str | os.PathLike] | None,
) -> tuple[str | os.PathLike, ...]:
    """The paths where one, several or none may be given."""
    if isinstance(paths, str | os.PathLike):
        return (paths,)
    return tuple(paths or ())


@contextlib.contextmanager
def replacing(
    path: str | os.PathLike, follow: bool = True
) -> Iterator[pathlib.Path]:
    """A temporary path whose file replaces that at `path` on success.

    Its name ends as that of `path` does, for writers that look at it.

    Args:
        path: the target; its old content stays until the end. A device or
            pipe is written to as it is.
        follow: True follows a link, as for a path that a person named.
            False replaces it: a folder from elsewhere may have links
            to what isn't its own.

    Yields:
        a path in the target's folder. On an error its file is removed.

    Raises:
        OSError: of writing, with the target as `filename` if it had none.
    """
    path = pathlib.Path(path)
    if follow:
        # /dev/stdout may lead to a pipe, whose real path opens nothing.
        if path.exists() and not path.is_file():
            yield path
            return
        path = pathlib.Path(os.path.realpath(path))
    sweep(path.parent)
    temporary = hidden(path)
    try:
        yield temporary
        _flush(temporary)
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        # The error of a full disk names the file that was being written.
        own = (None, str(temporary))
        if isinstance(error, OSError) and error.filename in own:
            error.filename = str(path)
        raise


@contextlib.contextmanager
def new_folder(path: str | os.PathLike) -> Iterator[pathlib.Path]:
    """A temporary folder that becomes `path` when the block ends well.

    It is beside `path`, so that the renaming is one step, after every
    file has reached the disk. When the block ends with an error it is
    removed, with the parents that were made for it.

    Args:
        path: of a folder that doesn't exist yet, or is empty.

    Yields:
        the temporary folder, of a name that is hidden and no number.

    Raises:
        InputError: `path` exists and isn't an empty folder, also when it
            has appeared meanwhile; it can't be written; the disk is full.
            Errors of TensorFlow's writers in the block count, too.
    """
    check_free(path)
    target = pathlib.Path(os.path.realpath(path))
    sweep(target.parent)
    temporary = hidden(target)
    missing = [folder for folder in target.parents if not folder.exists()]
    with writing(path):
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            temporary.mkdir()
            yield temporary
            for file in temporary.rglob("*"):
                if file.is_file():
                    _flush(file)
            if target.exists():
                shutil.copymode(target, temporary)
            _publish(temporary, target, path)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            with contextlib.suppress(OSError):
                for folder in missing:
                    folder.rmdir()
            raise


def check_free(path: str | os.PathLike) -> None:
    """Refuses a target that holds something already.

    Raises:
        InputError: `path` is a file, a folder that isn't empty, the current
            folder, or one where a disk is mounted.
    """
    path = pathlib.Path(path)
    try:
        taken = os.path.lexists(path) and any(path.iterdir())
        is_fixed = path.exists() and (path.samefile(".") or path.is_mount())
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}. Accepted: a new or empty folder"
        ) from None
    if taken:
        raise InputError(
            f"{path} exists and isn't empty. Accepted: a new or empty folder"
        )
    if is_fixed:
        raise InputError(
            f"{path} is the current folder, or a disk is mounted there: no new "
            "folder can take its place. Accepted: a folder in it"
        )


def remove_folder(path: pathlib.Path) -> None:
    """Takes a folder's name away in one step, then removes its files.

    What a killed process leaves of it has a name that `sweep` removes.

    Raises:
        InputError: it can't be removed.
    """
    removed = hidden(path)
    try:
        path.rename(removed)
        if removed.is_symlink():
            removed.unlink()
        else:
            shutil.rmtree(removed)
    except OSError as error:
        raise InputError(
            f"{path}: can't be removed ({error.strerror})"
        ) from None


class _NotWritten(InputError):
    """Something that couldn't be written: where, and why."""

    def __init__(self, path, reason):
        super().__init__(f"{path}: {reason}")
        self.reason = reason


@contextlib.contextmanager
def writing(path: str | os.PathLike) -> Iterator[None]:
    """Turns the errors of writing into an `InputError` that names `path`."""
    try:
        yield
    except Exception as error:
        # A temporary path's is told as that of the folder it becomes.
        reason = disk_error(error)
        if isinstance(error, _NotWritten):
            reason = error.reason
        if reason is None:
            raise
        raise _NotWritten(path, reason) from error


def disk_error(error: Exception) -> str | None:
    """Why something couldn't be written, in words for a person.

    Args:
        error: `OSError`, or one of TensorFlow's, whose writers have errors
            of their own for the same causes. They are known by their
            attributes: what needs no TensorFlow shall start fast.

    Returns:
        half a sentence; None if the error isn't one of writing.
    """
    if isinstance(error, BrokenPipeError):
        return None  # The reader of our output has gone.
    if isinstance(error, OSError):
        full = error.errno in DISK_FULL
        reason = error.strerror or str(error)
    elif hasattr(error, "error_code") and hasattr(error, "message"):
        # "PATH; File too large [Op:SaveV2]", and more lines in a traceback.
        reason = error.message.partition("\n")[0].rpartition("; ")[-1]
        reason = reason.partition(" [Op:")[0]
        full = error.error_code == _RESOURCE_EXHAUSTED
        full = full or reason in map(os.strerror, DISK_FULL)
    else:
        return None
    if full:
        return "the disk is full; nothing was written there"
    return f"can't be written ({reason})"


def require_space(path: pathlib.Path, size: int) -> None:
    """Fails as a write does where the disk has no space.

    For writers that crash there, as HDF5 does.

    Args:
        path: of the file that is to be written; made.
        size: bytes.

    Raises:
        OSError: the disk is full.
    """
    if hasattr(os, "posix_fallocate"):  # Not on macOS and Windows.
        with path.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)


def write_bytes(path: str | os.PathLike, content: bytes) -> None:
    """Replaces the file, or the link of that name, at once."""
    with replacing(path, follow=False) as temporary:
        temporary.write_bytes(content)


def write_text(path: str | os.PathLike, text: str) -> None:
    """Replaces the file at once by one of this text, as UTF-8."""
    write_bytes(path, text.encode())


def write_json(path: str | os.PathLike, value: object) -> None:
    """Replaces the file at once by one of `value` as JSON."""
    write_text(path, json_text(value, indent=2) + "\n")


def json_text(value: object, **options: Any) -> str:
    """JSON that can be written as UTF-8, readable where that can be.

    Args:
        value: the value. The names of files in it may have bytes that aren't
            UTF-8, which Python has as halves of surrogate pairs.
        options: of `json.dumps`.
    """
    text = json.dumps(value, ensure_ascii=False, **options)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, **options)
    return text


def open_file(path: str | os.PathLike) -> io.BufferedReader:
    """Opens a file for reading, as bytes, without an endless wait.

    A pipe has to be opened for writing by another process, as shells do for
    `<(...)`.

    Raises:
        InputError: it is a pipe without a writer.
        OSError: it can't be opened.
    """
    # By the name that was given: `Path` drops a slash at its end.
    if not stat.S_ISFIFO(os.stat(path).st_mode):  # noqa: PTH116
        return open(path, "rb")  # noqa: PTH123
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        first = _first_byte(descriptor)
        if first == b"":
            raise InputError(
                f"{path}: a pipe without a writer. Accepted: a file, or "
                "a pipe that is written to"
            )
        os.set_blocking(descriptor, True)
    except BaseException:
        os.close(descriptor)
        raise
    return io.BufferedReader(_Pipe(descriptor, first))


def read_bytes(
    path: str | os.PathLike, accepted: str = "", largest: int | None = None
) -> bytes:
    """The content of a file.

    Args:
        path: of the file.
        accepted: what would be right, for the error's message.
        largest: so many bytes are accepted; None: any.

    Raises:
        InputError: it can't be read, is larger, or a pipe without a writer.
    """
    content = b""
    try:
        with open_file(path) as file:
            # A file with holes may be far larger than the disk.
            size = os.fstat(file.fileno()).st_size
            if largest is None or size <= largest:
                content = file.read(-1 if largest is None else largest + 1)
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}{_accepted(accepted)}"
        ) from None
    except InputError:  # A `ValueError`, too.
        raise
    except ValueError:
        # Of a name that another file says: NUL, half of a surrogate pair.
        raise InputError(
            f"{os.fspath(path)!a}: no possible name{_accepted(accepted)}"
        ) from None
    if largest is not None and max(size, len(content)) > largest:
        raise InputError(
            f"{path}: too large. Accepted: a file of up to {largest:,} bytes"
        )
    return content


def read_json_value(
    path: str | os.PathLike, accepted: str = "", largest: int = LARGEST_JSON
) -> Any:
    """The JSON value in a file, of any kind.

    Args:
        path: of the file.
        accepted: what would be right, for the error's message.
        largest: so many bytes are accepted.

    Raises:
        InputError: it can't be read, is larger, or isn't JSON.
    """
    content = read_bytes(path, accepted, largest)
    try:
        return json.loads(content)
    except (ValueError, RecursionError):  # Or not UTF-8.
        raise InputError(
            f"{path}: damaged, not JSON{_accepted(accepted)}"
        ) from None


def read_json(path: str | os.PathLike, largest: int = LARGEST_JSON) -> dict:
    """The JSON object in a file.

    Args:
        path: of the file.
        largest: so many bytes are accepted.

    Raises:
        InputError: it can't be read, is larger, or holds something else.
    """
    value = read_json_value(path, largest=largest)
    if not isinstance(value, dict):
        raise InputError(f"{path}: damaged, not a JSON object")
    return value


def read_yaml(path: str | os.PathLike) -> dict:
    """The mapping in a YAML file.

    Raises:
        InputError: the file can't be read, isn't YAML, or repeats a key.
    """
    # Here, as exports are checked by interpreters without PyYAML.
    from keras_transformer.system.yaml_text import NotYaml, load_yaml

    content = read_bytes(path, largest=_LARGEST_YAML)
    try:
        return load_yaml(content.decode()) or {}
    except NotYaml as error:
        line = f", line {error.line}" if error.line else ""
        raise InputError(f"{path}{line}: {error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: not a YAML file") from None


def _first_byte(descriptor) -> bytes | None:
    """The first byte; None: not there yet; empty: no writer."""
    deadline = time.monotonic() + _GRACE
    while True:
        try:
            first = os.read(descriptor, 1)
        except BlockingIOError:
            return None
        if first or time.monotonic() > deadline:
            return first
        time.sleep(_POLL)


class _Pipe(io.FileIO):
    """A pipe whose first byte was read already.

    Args:
        descriptor: of the pipe; closed with this.
        first: the byte, or None.
    """

    def __init__(self, descriptor, first):
        super().__init__(descriptor, "rb")
        self._first = first or b""

    def readinto(self, buffer):
        if not self._first:
            return super().readinto(buffer)
        buffer[:1], self._first = self._first, b""
        # More than that byte, for those who look at the first two.
        return 1 + (super().readinto(memoryview(buffer)[1:]) or 0)


def _flush(path):
    """Brings a file's content to the disk, so that a rename publishes it."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _publish(temporary, target, path):
    try:
        temporary.rename(target)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
        raise InputError(
            f"{path}: appeared while it was being written; left as it is"
        ) from error


def _accepted(accepted):
    return accepted and f". Accepted: {accepted}"
