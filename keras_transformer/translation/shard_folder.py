"""The folder in which a text is translated shard by shard.

FOLDER/
  manifest.json       what is translated, how, and where shards begin
  00003-of-00064      the translations of shard 3, once they are whole
  00003-of-00064.json their bytes and SHA-256, and that of the manifest
  claims              empty; a process locks a byte for each shard it does

Any number of processes work in it at once, also on several hosts that share
a file system, and each may be killed at any moment. Shards are checked before
they are joined, and translated again if they are damaged. Files of other names
are left alone.
"""

import contextlib
import fcntl
import hashlib
import io
import os
import pathlib
import re
import shutil
from collections.abc import Iterable, Iterator
from typing import TextIO

from keras_transformer.errors import InputError
from keras_transformer.system.checksums import check_file, describe_file
from keras_transformer.system.files import read_json, replacing, write_json
from keras_transformer.system.leftovers import (
    TEMPORARY,
    hidden,
    remove_leftovers_of,
)
from keras_transformer.system.locks import NO_LOCKS, open_unlinked
from keras_transformer.translation.shard_manifest import (
    BulkJob,
    difference,
    read_manifest,
    shards_of,
    write_manifest,
)

_MANIFEST, _CLAIMS = "manifest.json", "claims"
# Names of the files that this module writes, temporary ones included.
_OURS = re.compile(
    rf"claims|({TEMPORARY})?(\d{{5,}}-of-\d{{5,}}(\.json)?|manifest\.json)"
)
# Byte of the lock file that is locked to plan or join; the next ones are for
# shards.
_WHOLE = 0
_COPIED_AT_ONCE = 1 << 20  # bytes


class Claims:
    """Distributes work among processes: each piece is claimed by one of them.

    A claim is a lock on one byte of a file. The operating system frees it when
    the process ends, in whatever way; file systems that are shared by hosts
    (NFS 4, Lustre, GPFS) show it to the other hosts. On a file system without
    locks every process gets every claim: work is then repeated, not lost.

    A process may open the file only once: POSIX frees all of its locks when any
    of its descriptors of the file is closed.

    Args:
        path: of the file, created if it doesn't exist.

    Attributes:
        are_kept: False once the file system was found to have no locks.

    Raises:
        InputError: it is a pipe.
        OSError: it can't be opened, or is a link.
    """

    def __init__(self, path: str | os.PathLike) -> None:
        self._path = pathlib.Path(path)
        try:
            # For reading, too: a pipe opened for writing waits for a reader.
            self._file = open(path, "a+b", opener=open_unlinked)
        except io.UnsupportedOperation:
            raise InputError(f"{path}: a pipe. Accepted: a file") from None
        self.are_kept = True

    def claim(self, index: int) -> bool:
        """Claims a byte; returns False if another process has it."""
        return self._lock(fcntl.LOCK_EX | fcntl.LOCK_NB, index)

    def wait(self, index: int) -> None:
        """Claims a byte as soon as no other process has it."""
        self._lock(fcntl.LOCK_EX, index)

    def release(self, index: int) -> None:
        """Releases a claim."""
        self._lock(fcntl.LOCK_UN, index)

    def is_current(self) -> bool:
        """True unless the file was removed or renamed."""
        try:
            status = self._path.lstat()
        except FileNotFoundError:
            return False
        return os.path.samestat(status, os.fstat(self._file.fileno()))

    def close(self) -> None:
        """Releases all claims."""
        self._file.close()

    def _lock(self, how, index):
        try:
            fcntl.lockf(self._file, how, 1, index)
        except (BlockingIOError, PermissionError):
            return False  # Another process has it.
        except OSError as error:
            if error.errno not in NO_LOCKS:
                raise
            self.are_kept = False
        return True


class ShardFolder:
    """A job's work folder, which has a manifest. A context manager.

    Args:
        job: the job.
        claims: the folder's, if they are open already.

    Attributes:
        job: the job.
        path: `pathlib.Path`.
        shards: list of `Shard`.

    Raises:
        InputError: the manifest is damaged.
    """

    def __init__(self, job: BulkJob, claims: Claims | None = None) -> None:
        self.job = job
        self.path = job.folder
        self._output = pathlib.Path(job.output)
        manifest = read_manifest(self.path / _MANIFEST)
        self.shards = shards_of(manifest)
        self._manifest = manifest["sha256"]
        self._claims = claims or Claims(self.path / _CLAIMS)

    def __enter__(self) -> "ShardFolder":
        return self

    def __exit__(self, *_: object) -> None:
        self._claims.close()

    def shard_path(self, number: int) -> pathlib.Path:
        """The file of a shard's translations."""
        return self.path / f"{number:05d}-of-{len(self.shards):05d}"

    def unfinished(self, numbers: Iterable[int]) -> list[int]:
        """The numbers of the shards that aren't translated yet.

        Empty if another process has joined all shards.
        """
        try:
            names = set(os.listdir(self.path))
        except FileNotFoundError:
            return []
        if _MANIFEST not in names:
            return []
        return [
            number
            for number in numbers
            if not names.issuperset(path.name for path in self._files(number))
        ]

    def finished_lines(self) -> int:
        """Lines of all shards that are translated."""
        left = set(self.unfinished(range(len(self.shards))))
        return sum(
            shard.lines for shard in self.shards if shard.number not in left
        )

    @contextlib.contextmanager
    def claim(self, number: int) -> Iterator[bool]:
        """Keeps other processes from a shard for the duration of the block.

        Yields:
            True if the shard is to be translated, False if another process
            does it or has done it.
        """
        claimed = self._claims.claim(number + 1)
        try:
            yield claimed and bool(self.unfinished([number]))
        finally:
            if claimed:
                self._claims.release(number + 1)

    @contextlib.contextmanager
    def writing_shard(self, number: int) -> Iterator[TextIO]:
        """A text file that becomes the shard's translations on success.

        Raises:
            OSError: a file can't be written.
        """
        path, record = self._files(number)
        if self._claims.are_kept:
            remove_leftovers_of(path)
        with replacing(path, follow=False) as temporary:
            with temporary.open("w", encoding="utf-8") as file:
                yield file
            described = describe_file(temporary)
            described |= {"name": path.name, "manifest": self._manifest}
            write_json(record, described)

    def discard_damaged(self, numbers: Iterable[int]) -> dict[int, str]:
        """Removes finished shards that were damaged.

        Reads them all.

        Returns:
            `{number: what is wrong}` of the removed shards.

        Raises:
            OSError: one can't be removed.
        """
        numbers = list(numbers)
        left = self.unfinished(numbers)
        problems = {n: self._problem(n) for n in numbers if n not in left}
        if not (self.path / _MANIFEST).exists():
            return {}  # Another process has joined the shards.
        damaged = {n: problem for n, problem in problems.items() if problem}
        for number in damaged:
            for path in self._files(number):
                path.unlink(missing_ok=True)
        return damaged

    def checksum(self) -> str:
        """The SHA-256 of all shards, concatenated, hexadecimal."""
        sha256 = hashlib.sha256()
        for shard in self.shards:
            sha256.update(self.shard_path(shard.number).read_bytes())
        return sha256.hexdigest()

    def join(self) -> dict[int, str]:
        """Writes the output, all shards in their order; removes the folder.

        Does nothing if another process has done so in the meantime.

        Returns:
            `{number: why}` of the shards that have to be translated first, as
            they are missing or were damaged; empty if the output is written.

        Raises:
            InputError: the folder was removed, and there is no output.
            OSError: the output can't be written.
        """
        self._claims.wait(_WHOLE)
        try:
            if self._claims.is_current() and (self.path / _MANIFEST).exists():
                return self._join()
            if not self._output.exists():
                raise InputError(
                    f"{self.path}: was removed meanwhile, and {self._output} "
                    "isn't there"
                )
            return {}
        finally:
            self._claims.release(_WHOLE)

    def _join(self):
        numbers = range(len(self.shards))
        left = dict.fromkeys(self.unfinished(numbers), "missing")
        left |= self.discard_damaged(numbers)
        if left:
            return left
        if self._claims.are_kept:
            remove_leftovers_of(self._output)
        with replacing(self._output) as temporary:
            with temporary.open("wb") as output:
                for number in numbers:
                    with self.shard_path(number).open("rb") as file:
                        shutil.copyfileobj(file, output, _COPIED_AT_ONCE)
        remove_shards(self.path)
        return {}

    def _files(self, number):
        """The files of a finished shard: its translations and their record."""
        path = self.shard_path(number)
        return path, path.with_name(f"{path.name}.json")

    def _problem(self, number) -> str | None:
        """Describes what is wrong with a finished shard; None if nothing."""
        path, record = self._files(number)
        try:
            described = read_json(record)
            of_job = described.get("name"), described.get("manifest")
            if of_job != (path.name, self._manifest):
                return f"{record}: damaged, or of another text"
            if path.is_symlink():
                return f"{path}: a link"
            check_file(path, described, "it is made again", content=True)
        except InputError as error:
            return str(error)
        return None


class AlreadyJoined(InputError):
    """The job was done by another process while this one waited for it."""


def open_folder(job: BulkJob) -> ShardFolder:
    """Opens or creates the work folder of a job.

    Raises:
        AlreadyJoined: another process has done the job meanwhile.
        InputError: the folder is another job's, or a file can't be split.
        OSError: a file can't be read or written.
    """
    for name, path in {**job.texts, "output": job.output}.items():
        if os.path.exists(path) and not os.path.isfile(path):
            raise InputError(
                f"{path}: not a file. Accepted as {name} with shards: a file"
            )
    claims = _claim_folder(job)
    try:
        _begin(job)
        folder = ShardFolder(job, claims)
    except BaseException:
        claims.close()
        raise
    claims.release(_WHOLE)
    return folder


def ranges(numbers: Iterable[int]) -> str:
    """Ascending numbers as text, such as 3, 7-12."""
    spans: list = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(
        str(first) if first == last else f"{first}-{last}"
        for first, last in spans
    )


def _claim_folder(job) -> Claims:
    """Opens the claims of a job's folder, and claims the whole folder."""
    path = job.folder
    was_there = False
    while True:
        # A folder that disappeared was removed by a process that has joined.
        if was_there and not path.exists() and os.path.exists(job.output):
            raise AlreadyJoined(f"{job.output}: written by another process")
        was_there = was_there or path.exists()
        path.mkdir(exist_ok=True)
        try:
            claims = Claims(path / _CLAIMS)
        except FileNotFoundError:
            continue  # The folder was removed by a process that has joined.
        claims.wait(_WHOLE)
        if claims.is_current():
            return claims
        claims.close()


def _begin(job):
    """Writes the manifest, or checks the existing one."""
    path = job.folder / _MANIFEST
    if os.path.lexists(path):
        if other := difference(read_manifest(path), job):
            raise InputError(
                f"{job.folder}: begun with {other}. Accepted: the same input, "
                "model and options; another output; or none of this folder"
            )
        return
    others = [
        name
        for name in sorted(os.listdir(job.folder))
        if name != _CLAIMS and not name.startswith(".")
    ]
    if others:
        raise InputError(
            f"{job.folder}: has {others[0]} but no {_MANIFEST}. Accepted: "
            "what `translate-shards` wrote, or no such folder"
        )
    write_manifest(path, job)


def remove_shards(folder: pathlib.Path) -> None:
    """Removes a work folder, or only its own files if it has others.

    The folder is renamed first, so that a killed process doesn't leave a part
    of it under its name.
    """
    if not folder.is_dir():
        return
    names = os.listdir(folder)
    ours = sorted(filter(_OURS.fullmatch, names), key=_MANIFEST.__ne__)
    if len(ours) == len(names):
        folder = folder.rename(hidden(folder))
    for name in ours:
        (folder / name).unlink(missing_ok=True)
    if len(ours) == len(names):
        folder.rmdir()
