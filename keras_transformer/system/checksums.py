"""SHA-256 checksums of bytes, of files and of the files in a folder."""

import hashlib
import json
import os
import pathlib
import stat
from collections.abc import Iterable

from keras_transformer.errors import InputError, shown


def digest(content: bytes) -> str:
    """The SHA-256 of some bytes, as hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()


def checksum(path: str | os.PathLike) -> str:
    """The SHA-256 of a file's content, as hexadecimal digits."""
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
    """True for a plain file name, without folders, as manifests list them."""
    if not isinstance(name, str) or name in ("", "..") or len(name) > 255:
        return False
    return pathlib.PurePath(name).name == name


def check_file(
    path: pathlib.Path, described: dict, remedy: str, content: bool = False
) -> None:
    """Refuses a file that is missing or doesn't match its description.

    Args:
        path: of the file.
        described: the result of `describe_file` when the file was written.
        remedy: what the user can do about it, the end of the error's message.
        content: True compares the SHA-256, not only the size.

    Raises:
        InputError: names the file and how it differs, also if it is a folder,
            a pipe or a device.
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
        # Only then is it read: a device may have no end.
        as_described = is_file and size == expected[0]
        now = content and as_described and checksum(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; {remedy}") from None
    except ValueError:  # A NUL or an unpaired surrogate in the name.
        raise InputError(
            f"{os.fspath(path)!a}: not a valid file name; {remedy}"
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
    """A digest of files in a folder and of settings.

    It doesn't depend on where the folder is.

    Args:
        folder: the folder.
        paths: paths below the folder, in any order; folders are ignored.
        settings: a JSON-serializable value that is part of the digest.
    """
    checksums = {
        path.relative_to(folder).as_posix(): checksum(path)
        for path in paths
        if path.is_file()
    }
    content = json.dumps([checksums, settings], sort_keys=True)
    return digest(content.encode())
