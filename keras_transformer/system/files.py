"""Files and folders that are written atomically, and readers of files.

Output has a hidden name until it is complete, so that readers, and a server
that watches the folder, find either the old content or the new, even after a
kill. `writing` and `new_folder` turn the errors of a full disk into
`InputError`; `replacing` keeps the system's error, with the target's name. The
readers also accept pipes.
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

# Error numbers.
DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Bytes of files that are read as a whole. YAML files are written by hand.
LARGEST_JSON, _LARGEST_YAML = 1 << 24, 1 << 18
# Seconds that a pipe's writer has to open it, and between two attempts.
_GRACE, _POLL = 1.0, 0.05
# TensorFlow's code for a full disk, as `error_code` of its errors.
_RESOURCE_EXHAUSTED = 8


def as_paths(
    paths: str | os.PathLike | Iterable[str | os.PathLike] | None,
) -> tuple[str | os.PathLike, ...]:
    """Returns a tuple of paths from one path, several or None."""
    if isinstance(paths, str | os.PathLike):
        return (paths,)
    return tuple(paths or ())


@contextlib.contextmanager
def replacing(
    path: str | os.PathLike, follow: bool = True
) -> Iterator[pathlib.Path]:
    """Yields a temporary path whose file replaces `path` on success.

    Its name ends like that of `path`, for writers that depend on the suffix.

    Args:
        path: the target; its old content stays until the end. A device or
            pipe is written to directly.
        follow: True follows a link, as for a path that the user gave. False
            replaces the link: a folder from elsewhere may contain links to
            files outside of it.

    Yields:
        a path in the target's folder. On an error its file is removed.

    Raises:
        OSError: writing failed; `filename` is the target if it was unset or
            the temporary path.
    """
    path = pathlib.Path(path)
    if follow:
        # /dev/stdout may link to a pipe, whose real path can't be opened.
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
        with contextlib.suppress(OSError):  # of a read-only file system
            temporary.unlink(missing_ok=True)
        # The error of a full disk names the file that was being written.
        own = (None, str(temporary))
        if isinstance(error, OSError) and error.filename in own:
            error.filename = str(path)
        raise


@contextlib.contextmanager
def new_folder(path: str | os.PathLike) -> Iterator[pathlib.Path]:
    """Yields a temporary folder that is renamed to `path` on success.

    It is beside `path`, so that the rename is atomic, and happens after every
    file has reached the disk. If the block raises, the folder is removed, along
    with the parents that were created for it.

    Args:
        path: of a folder that doesn't exist yet, or is empty.

    Yields:
        the temporary folder. Its name is hidden and isn't a number.

    Raises:
        InputError: `path` exists and isn't an empty folder, also if it
            appeared in the meantime; it can't be written; the disk is full.
            Includes the errors of TensorFlow's writers in the block.
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
    """Refuses a target that already exists and isn't an empty folder.

    Raises:
        InputError: `path` is a file, a folder that isn't empty, the current
            folder, or a mount point.
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
    """Renames a folder to a hidden name atomically, then removes its files.

    If the process is killed, `sweep` removes the rest later.

    Raises:
        InputError: the folder can't be removed.
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
    """Failure to write a path, with the reason."""

    def __init__(self, path, reason):
        super().__init__(f"{path}: {reason}")
        self.reason = reason


@contextlib.contextmanager
def writing(path: str | os.PathLike) -> Iterator[None]:
    """Turns the errors of writing into an `InputError` that names `path`."""
    try:
        yield
    except Exception as error:
        # A nested block's error is about a temporary path: it is replaced by
        # this path.
        reason = disk_error(error)
        if isinstance(error, _NotWritten):
            reason = error.reason
        if reason is None:
            raise
        raise _NotWritten(path, reason) from error


def disk_error(error: Exception) -> str | None:
    """Describes in words why writing failed.

    Args:
        error: `OSError`, or one of TensorFlow's own errors for the same
            causes. These are recognized by their attributes, so that
            TensorFlow needn't be imported.

    Returns:
        half a sentence; None if the error isn't about writing.
    """
    if isinstance(error, BrokenPipeError):
        return None  # The process that read the output has ended.
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
    """Raises the error of a full disk before a file is written.

    For writers that crash on a full disk, as HDF5 does.

    Args:
        path: of the file that will be written; it is created.
        size: bytes.

    Raises:
        OSError: the disk is full.
    """
    if hasattr(os, "posix_fallocate"):  # Not on macOS and Windows.
        with path.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, size)


def write_bytes(path: str | os.PathLike, content: bytes) -> None:
    """Atomically replaces the file, or the link of that name."""
    with replacing(path, follow=False) as temporary:
        temporary.write_bytes(content)


def write_text(path: str | os.PathLike, text: str) -> None:
    """Atomically replaces the file by a text in UTF-8."""
    write_bytes(path, text.encode())


def write_json(path: str | os.PathLike, value: object) -> None:
    """Atomically replaces the file by `value` as JSON."""
    write_text(path, json_text(value, indent=2) + "\n")


def json_text(value: object, **options: Any) -> str:
    """Returns JSON that can be encoded as UTF-8, with few escapes.

    Non-ASCII characters are escaped only if the text couldn't be encoded.

    Args:
        value: the value. File names in it may have bytes that aren't UTF-8,
            which Python decodes to unpaired surrogates.
        options: of `json.dumps`.
    """
    text = json.dumps(value, ensure_ascii=False, **options)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value, **options)
    return text


def open_file(path: str | os.PathLike) -> io.BufferedReader:
    """Opens a file for reading bytes; doesn't wait forever for a pipe's writer.

    Another process must have opened the pipe for writing, as shells do for
    `<(...)`.

    Raises:
        InputError: it is a pipe without a writer.
        OSError: it can't be opened.
    """
    # The name as given, because `Path` would drop a trailing slash.
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
        accepted: what would be accepted, for the error's message.
        largest: the maximum number of bytes; None: no limit.

    Raises:
        InputError: it can't be read, is larger, or is a pipe without a writer.
    """
    content = b""
    try:
        with open_file(path) as file:
            # A sparse file may be far larger than the disk.
            size = os.fstat(file.fileno()).st_size
            if largest is None or size <= largest:
                content = file.read(-1 if largest is None else largest + 1)
    except OSError as error:
        raise InputError(
            f"{path}: {error.strerror}{_accepted(accepted)}"
        ) from None
    except InputError:  # a subclass of `ValueError`
        raise
    except ValueError:
        # A name from another file may have a NUL or an unpaired surrogate.
        raise InputError(
            f"{os.fspath(path)!a}: not a valid file name{_accepted(accepted)}"
        ) from None
    if largest is not None and max(size, len(content)) > largest:
        raise InputError(
            f"{path}: too large. Accepted: a file of up to {largest:,} bytes"
        )
    return content


def read_json_value(
    path: str | os.PathLike, accepted: str = "", largest: int = LARGEST_JSON
) -> Any:
    """The JSON value in a file, of any type.

    Args:
        path: of the file.
        accepted: what would be accepted, for the error's message.
        largest: the maximum number of bytes.

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
        largest: the maximum number of bytes.

    Raises:
        InputError: it can't be read, is larger, or isn't a JSON object.
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
    # Imported here because interpreters that check exports may lack PyYAML.
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
    """The first byte; None if it hasn't arrived; b"" without a writer."""
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
        # Fills the rest, as some readers inspect the first two bytes.
        return 1 + (super().readinto(memoryview(buffer)[1:]) or 0)


def _flush(path):
    """Syncs a file's content to the disk before a rename publishes it."""
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
