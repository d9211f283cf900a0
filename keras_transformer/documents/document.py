"""Document: the interface of all file formats."""

import importlib
import pathlib
from collections.abc import Collection, Iterable, Mapping
from types import ModuleType
from typing import Protocol

from keras_transformer.errors import InputError, not_installed
from keras_transformer.system.files import read_bytes

# Maximum bytes of a file that is held in memory with all its texts.
LARGEST = 256 << 20


class Document(Protocol):
    """A file's texts in order, and a writer of the translated file.

    Everything else (time codes, keys, comments, attributes) is kept.
    """

    @property
    def texts(self) -> Collection[str]:
        """The texts to translate. A text may have several lines."""

    @property
    def skipped(self) -> Mapping[str, int]:
        """Texts of the file that aren't translated, by reason."""

    def translated(self, texts: Iterable[str]) -> Iterable[bytes]:
        """Writes the file with the translations of `texts`, in their order.

        Yields:
            the content of the file, in parts.
        """


def read_text(path: pathlib.Path) -> str:
    """Reads a UTF-8 file; keeps its line ends and byte order mark.

    Raises:
        InputError: it can't be read, is larger than 256 MiB or isn't UTF-8.
    """
    content = read_bytes(path, largest=LARGEST)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        line = content.split(b"\n")[number - 1]
        return decoded(line, f"{path}, line {number}")


def decoded(line: bytes, where: str) -> str:
    """Decodes a line.

    Raises:
        InputError: it isn't UTF-8; the message has `where`, the line's place.
    """
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{where}: not UTF-8 (byte 0x{line[error.start]:02x}). Accepted: "
            "the file in UTF-8"
        ) from None


def installed(module: str, package: str | None = None) -> ModuleType:
    """Imports a library of the extra `files`.

    Args:
        module: the module's name.
        package: the name of its package, if that differs.

    Raises:
        InputError: it isn't installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError:
        raise not_installed(package or module, "files") from None
