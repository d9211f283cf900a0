"""Safe reading of untrusted folders.

Their content may be hostile: names that lead out of the folder, deeply nested
YAML, files that never end.
"""

import os
import pathlib
import re
import warnings

from keras_transformer.errors import InputError, shown
from keras_transformer.system.files import open_file, read_bytes, write_bytes
from keras_transformer.system.yaml_text import NotYaml, load_yaml

LARGEST_YAML = 1 << 16  # bytes of a settings file
# Name of a file in Hugging Face's cache: SHA-1 or SHA-256.
_BLOB = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_LARGEST_NOTICE = 1 << 22  # bytes of a file that is copied


def check_files(folder: pathlib.Path) -> None:
    """Refuses pipes and devices in a folder, as reading might never end.

    Raises:
        InputError: names the first one.
    """
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError(
                f"{path}: neither a file nor a folder. Accepted: a folder of "
                "files"
            )


def inside(
    folder: pathlib.Path, path: pathlib.Path, key: str, section: dict
) -> pathlib.Path:
    """Resolves a path in settings, which must be within their folder.

    Args:
        folder: folder of the settings.
        path: file of the settings, for errors.
        key: key of the path in `section`.
        section: section of the settings.

    Raises:
        InputError: the value isn't a path, or leads out of the folder.
    """
    name = section.get(key)
    said = f"{path}: {key} is {shown(name, 60)}"
    if not isinstance(name, str) or not name:
        raise InputError(f"{said}. Accepted: a file name")
    try:
        target = (folder / name).resolve()
    # Raised for circular links, NUL bytes and unpaired surrogates.
    except (OSError, RuntimeError, ValueError):
        raise InputError(f"{said}, no path. Accepted: a file name") from None
    if not target.is_relative_to(folder.resolve()):
        raise InputError(
            f"{said}, outside the folder. Accepted: a path within it, relative "
            "to it"
        )
    return target


def is_own(path: pathlib.Path, folder: pathlib.Path | None = None) -> bool:
    """True if a file is in a folder, and isn't a link to a file outside it.

    In Hugging Face's cache all files are links to `../../blobs/HASH`, which are
    accepted.

    Args:
        path: path of the file.
        folder: the folder; None: the one that contains the file.
    """
    folder = (folder or path.parent).resolve()
    try:
        target = path.resolve()
    except (OSError, RuntimeError):  # circular links
        return False
    blobs = folder.parent.parent / "blobs"
    is_blob = folder.parent.name == "snapshots" and target.parent == blobs
    if is_blob and not _BLOB.fullmatch(target.name):
        return False
    return target.is_file() and (is_blob or target.is_relative_to(folder))


def require_own(path: pathlib.Path, folder: pathlib.Path) -> None:
    """Refuses a link to a file outside a folder, which may be private.

    Raises:
        InputError: names the link.
    """
    if path.exists() and not is_own(path, folder):
        raise InputError(
            f"{path}: a link to a file outside {folder}. Accepted: the file "
            "itself, or a link as in Hugging Face's cache, to ../../blobs"
        )


def copy_own_files(
    folder: pathlib.Path, target: pathlib.Path, pattern: str = "*"
) -> None:
    """Copies small files of a folder, such as licence and model card.

    Links to files outside the folder, which may be private, are skipped with a
    warning.

    Args:
        folder: the folder, without its subfolders.
        target: the folder of the copies, created with the first one.
        pattern: glob pattern of the files' names.

    Raises:
        InputError: a file is too large, or can't be read.
    """
    for path in sorted(folder.glob(pattern)):
        if is_own(path):
            content = read_bytes(path, largest=_LARGEST_NOTICE)
            target.mkdir(exist_ok=True)
            write_bytes(target / path.name, content)
        elif path.is_symlink():
            warnings.warn(
                f"{path}: a link to something outside the folder, not copied",
                stacklevel=2,
            )


def read_head(path: str | os.PathLike, size: int = 1 << 16) -> str:
    """Reads the beginning of a file as text.

    Args:
        path: path of the file.
        size: maximum number of bytes to read.

    Raises:
        InputError: the file can't be read.
    """
    try:
        with open_file(path) as file:
            return file.read(size).decode(errors="replace")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def read_yaml(path: pathlib.Path, writer: str) -> dict:
    """Reads the mapping in a YAML file; raises as `yaml_mapping` does."""
    content = read_bytes(path, largest=LARGEST_YAML)
    return yaml_mapping(content, path, writer)


def yaml_mapping(content: bytes, where: object, writer: str = "Marian") -> dict:
    """Parses YAML that must be a mapping.

    Args:
        content: at most `LARGEST_YAML` bytes.
        where: the content's place, for errors.
        writer: the program that wrote it, for errors.

    Raises:
        InputError: the content isn't a mapping, or is too large.
    """
    if len(content) > LARGEST_YAML:
        raise InputError(
            f"{where}: {len(content):,} bytes. Accepted: up to "
            f"{LARGEST_YAML:,}, the YAML of {writer}"
        )
    try:
        value = load_yaml(content)
    except NotYaml:
        value = None
    if not isinstance(value, dict):
        raise InputError(
            f"{where}: damaged, not the YAML of {writer}. Accepted: a mapping"
        )
    return value
