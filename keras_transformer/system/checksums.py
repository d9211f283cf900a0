"""SHA-256 checksums: of bytes, of a file, of what a folder holds."""

import hashlib
import json
import os
import pathlib
import stat
from collections.abc import Iterable

from keras_transformer.errors import InputError, shown


def digest(content: bytes) -> str:
    """The SHA-256 of some bytes, hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def checksum(path: str | os.PathLike) -> str:
    """The SHA-256 of a file's content, hexadecimal."""
    with pathlib.Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def describe_file(path: str | os.PathLike) -> dict:
    """A file as manifests list it: `name`, `bytes` and `sha256`."""
    path = pathlib.Path(path)
    return {
        "name": path.name,
        "bytes": path.stat().st_size,
        "sha256": checksum(path),
    }


def is_bare_name(name: object) -> bool:
    """True if a manifest's name can be of a file beside it, and is no path."""
    if not isinstance(name, str) or name in ("", "..") or len(name) > 255:
        return False
    return pathlib.PurePath(name).name == name


def check_file(
    path: pathlib.Path, described: dict, remedy: str, content: bool = False
) -> None:
    """Refuses a file that is missing, or isn't what was described.

    Args:
        path: of the file.
        described: its `describe_file` when it was written.
        remedy: what to do about it, the end of the error's message.
        content: True reads the content, too, and not just the size.

    Raises:
        InputError: names the file and how it differs, or that it is a
            folder, a pipe or a device.
    """
    expected = described.get("bytes"), described.get("sha256")
    if type(expected[0]) is not int or not isinstance(expected[1], str):
        raise InputError(
            f"{path}: its description is damaged (bytes "
            f"{shown(expected[0], 30)}, sha256 {shown(expected[1], 30)}); "
            f"{remedy}"
        )
    try:
        status = path.stat()
        size, is_file = status.st_size, stat.S_ISREG(status.st_mode)
        # What isn't as described may have no end.
        as_described = is_file and size == expected[0]
        now = content and as_described and checksum(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; {remedy}") from None
    except ValueError:  # NUL, half of a surrogate pair
        raise InputError(
            f"{os.fspath(path)!a}: no possible name; {remedy}"
        ) from None
    if not is_file:
        problem = "not a file"
    elif not as_described:
        problem = f"{size} bytes and not {described['bytes']}"
    elif now and now != described["sha256"]:
        short = now[:12], described["sha256"][:12]
        problem = f"its SHA-256 is {short[0]}... and not {short[1]}..."
    else:
        return
    raise InputError(f"{path}: damaged, {problem}; {remedy}")


def files_fingerprint(
    folder: pathlib.Path, paths: Iterable[pathlib.Path], settings: object = None
) -> str:
    """A digest of files below a folder, wherever it is, and of settings.

    Args:
        folder: the folder.
        paths: in any order; folders are left out.
        settings: what counts beside them, JSON-able.
    """
    checksums = {
        path.relative_to(folder).as_posix(): checksum(path)
        for path in paths
        if path.is_file()
    }
    content = json.dumps([checksums, settings], sort_keys=True)
    return digest(content.encode())
