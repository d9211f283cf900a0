"""Remote files, with addresses such as gs://, s3://, hdfs:// or file://.

pyarrow reads and writes them. Accounts and regions come from the environment
or the configuration files of the file systems' own programs.
"""

import contextlib
import dataclasses
import hashlib
import io
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterator

from keras_transformer.errors import InputError, not_installed
from keras_transformer.system.files import check_free, new_folder, writing

_CHUNK = 4 << 20


@dataclasses.dataclass(frozen=True)
class RemotePath:
    """An address, with the part of `pathlib.Path` that reading a corpus uses.

    Args:
        uri: the address, with a scheme.
    """

    uri: str

    def __str__(self) -> str:
        return self.uri

    def __fspath__(self) -> str:
        return self.uri

    def __truediv__(self, name: str) -> "RemotePath":
        return RemotePath(f"{self.uri.rstrip('/')}/{name}")

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.uri.rstrip("/").rpartition("/")[2]

    @property
    def suffix(self) -> str:
        """The file name's suffix, including the dot."""
        return pathlib.PurePosixPath(self.name).suffix

    def open(self) -> io.BufferedReader:
        """Opens the file for reading, as bytes.

        Raises:
            InputError: there is no such file system.
            OSError: it can't be read.
        """
        system, path = self._resolved()
        return io.BufferedReader(system.open_input_file(path), _CHUNK)

    def size(self) -> int:
        """The file's size in bytes. Raises as `open` does."""
        system, path = self._resolved()
        info = system.get_file_info(path)
        if info.size is None:
            raise FileNotFoundError(f"{self}: no such file")
        return info.size

    def describe(self) -> dict:
        """The same as `checksums.describe_file`. Raises as `open` does."""
        with self.open() as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return {"name": self.name, "bytes": self.size(), "sha256": digest}

    def put(self, path: pathlib.Path) -> None:
        """Writes the content of a local file. Raises as `open` does."""
        system, target = self._resolved()
        system.create_dir(target.rpartition("/")[0], recursive=True)
        with path.open("rb") as file, system.open_output_stream(target) as out:
            shutil.copyfileobj(file, out, _CHUNK)

    def fetch(self, folder: pathlib.Path) -> None:
        """Copies the files of this folder, without subfolders, to a local one.

        Raises as `open` does.
        """
        for info in self._list():
            if info.is_file:
                with (
                    (self / info.base_name).open() as file,
                    (folder / info.base_name).open("wb") as out,
                ):
                    shutil.copyfileobj(file, out, _CHUNK)

    def remove(self) -> None:
        """Removes a folder and its content, if it isn't empty."""
        system, path = self._resolved()
        if self._list():
            system.delete_dir(path)

    def check_free(self) -> None:
        """The same as `files.check_free`.

        Raises:
            InputError: a file or a folder with files exists there, or the
                address can't be read.
        """
        try:
            system, path = self._resolved()
            taken = self._list() or system.get_file_info(path).is_file
        except OSError as error:
            raise InputError(f"{self}: {_first_line(error)}") from None
        if taken:
            raise InputError(
                f"{self} exists and isn't empty. Accepted: a new or empty "
                "folder"
            )

    def _list(self):
        from pyarrow import fs

        system, path = self._resolved()
        return system.get_file_info(fs.FileSelector(path, allow_not_found=True))

    def _resolved(self):
        """Returns the file system, and the path on it."""
        try:
            import pyarrow
            from pyarrow import fs
        except ImportError:
            name = f"{self}: pyarrow"
            raise not_installed(name, "spark", "or a local path") from None
        try:
            return fs.FileSystem.from_uri(self.uri)
        except pyarrow.ArrowException as error:
            raise InputError(f"{self}: {_first_line(error)}") from None


def any_path(name: str | os.PathLike) -> pathlib.Path | RemotePath:
    """Returns a `RemotePath` for a name with a scheme, else a `Path`."""
    if isinstance(name, RemotePath):
        return name
    if "://" in (text := os.fspath(name)):
        return RemotePath(text)
    return pathlib.Path(name)


def size_of(path: pathlib.Path | RemotePath) -> int:
    """The size of a file in bytes.

    Raises:
        OSError: it can't be read.
    """
    if isinstance(path, RemotePath):
        return path.size()
    return path.stat().st_size


@contextlib.contextmanager
def new_target(
    path: pathlib.Path | RemotePath,
) -> Iterator[pathlib.Path]:
    """The same as `files.new_folder`, also for an address.

    For an address, the files are written locally and then copied. As remote
    folders can't be renamed atomically, the manifest is copied last: a folder
    without one is incomplete.

    Args:
        path: of a folder that doesn't exist yet, or is empty.

    Yields:
        a local folder to write to.

    Raises:
        InputError: see `files.new_folder`.
    """
    if not isinstance(path, RemotePath):
        with new_folder(path) as folder:
            yield folder
        return
    path.check_free()
    with tempfile.TemporaryDirectory() as name, writing(path):
        folder = pathlib.Path(name)
        try:
            yield folder
            files = [file for file in folder.rglob("*") if file.is_file()]
            files.sort(key=lambda file: file.name == "manifest.json")
            for file in files:
                (path / file.relative_to(folder).as_posix()).put(file)
        except BaseException:
            with contextlib.suppress(OSError):
                path.remove()
            raise


def check_target(path: pathlib.Path | RemotePath) -> None:
    """Refuses a target that isn't free, see `check_free`.

    Raises:
        InputError: it exists, and isn't an empty folder.
    """
    if isinstance(path, RemotePath):
        path.check_free()
    else:
        check_free(path)


def _first_line(error):
    return str(error).strip().partition("\n")[0]
