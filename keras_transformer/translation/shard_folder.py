"""The folder in which a text is translated shard by shard.

FOLDER/
  manifest.json      what is translated, how, and where shards begin
  00003-of-00064     the translations of shard 3, once they are whole
  claims             empty; its bytes are claimed by who does a shard
  joined.json        the manifest, once all shards are joined

Any number of processes work in it at once, also on several hosts that share
a file system, and each may be killed at any moment.
"""

import contextlib
import fcntl
import hashlib
import io
import os
import pathlib
import shutil
from collections.abc import Iterable, Iterator
from typing import TextIO

from keras_transformer.errors import InputError
from keras_transformer.files import (
    read_json,
    replacing,
    write_json,
)
from keras_transformer.leftovers import remove_leftovers_of
from keras_transformer.locks import NO_LOCKS, open_unlinked
from keras_transformer.translation.shard_manifest import (
    BulkJob,
    difference,
    plan,
    shards_of,
)

_MANIFEST, _JOINED, _CLAIMS = "manifest.json", "joined.json", "claims"
# Claimed by who plans or joins; the shards' claims follow.
_WHOLE = 0
_COPIED_AT_ONCE = 1 << 20  # bytes


class Claims:
    """Who among several processes does a piece of work.

    A claim is the lock of one byte of a file. The system frees it when its
    process dies, however that happens; file systems that hosts share (NFS 4,
    Lustre, GPFS) tell it to the others. Where a file system has no locks, all
    get every claim: what they do is then done again, and nothing is lost.

    A process opens the file once: closing it anywhere frees all claims, as
    POSIX has it.

    Args:
        path: of the file, made if it isn't there.

    Attributes:
        are_kept: whether claims keep others away, as far as is known.

    Raises:
        InputError: it is a pipe.
        OSError: it can't be opened, or is a link.
    """

    def __init__(self, path: str | os.PathLike) -> None:
        self._path = pathlib.Path(path)
        try:
            # For reading, too: a pipe's opening would wait for a reader.
            self._file = open(path, "a+b", opener=open_unlinked)
        except io.UnsupportedOperation:
            raise InputError(f"{path}: a pipe. Accepted: a file") from None
        self.are_kept = True

    def claim(self, index: int) -> bool:
        """Claims a byte if nobody else has it; whether it is claimed."""
        return self._lock(fcntl.LOCK_EX | fcntl.LOCK_NB, index)

    def wait(self, index: int) -> None:
        """Claims a byte as soon as nobody else has it."""
        self._lock(fcntl.LOCK_EX, index)

    def release(self, index: int) -> None:
        """Gives a claim up."""
        self._lock(fcntl.LOCK_UN, index)

    def is_current(self) -> bool:
        """Whether the file still has its name, and wasn't removed."""
        try:
            status = self._path.lstat()
        except FileNotFoundError:
            return False
        return os.path.samestat(status, os.fstat(self._file.fileno()))

    def close(self) -> None:
        """Gives all claims up."""
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
        path: `pathlib.Path`.
        shards: list of `Shard`.

    Raises:
        InputError: the manifest is damaged.
    """

    def __init__(self, job: BulkJob, claims: Claims | None = None) -> None:
        self.path = job.folder
        self._output = pathlib.Path(job.output)
        manifest = self.path / _MANIFEST
        self.shards = shards_of(read_json(manifest), manifest)
        self._claims = claims or Claims(self.path / _CLAIMS)

    def __enter__(self) -> "ShardFolder":
        return self

    def __exit__(self, *_: object) -> None:
        self._claims.close()

    def shard_path(self, number: int) -> pathlib.Path:
        """The file of a shard's translations."""
        return self.path / f"{number:05d}-of-{len(self.shards):05d}"

    def unfinished(self, numbers: Iterable[int]) -> list[int]:
        """Those of the shards that aren't translated yet.

        None if another process has joined them all.
        """
        try:
            names = set(os.listdir(self.path))
        except FileNotFoundError:
            return []
        if _MANIFEST not in names:
            return []
        return [n for n in numbers if self.shard_path(n).name not in names]

    @contextlib.contextmanager
    def claim(self, number: int) -> Iterator[bool]:
        """Keeps other processes from a shard while the block lasts.

        Yields:
            whether the shard is to be translated: False if another process
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
        """A text file that is the shard's translations once it is whole.

        Raises:
            OSError: of writing.
        """
        path = self.shard_path(number)
        if self._claims.are_kept:
            remove_leftovers_of(path)
        with replacing(path, follow=False) as temporary:
            with temporary.open("w", encoding="utf-8") as file:
                yield file

    def checksum(self) -> str:
        """The SHA-256 of all shards, one after the other, hexadecimal."""
        sha256 = hashlib.sha256()
        for shard in self.shards:
            sha256.update(self.shard_path(shard.number).read_bytes())
        return sha256.hexdigest()

    def join(self) -> None:
        """Writes the output, all shards in their order; removes the folder.

        Another process that has done so meanwhile has done it for this one.

        Raises:
            InputError: shards are missing.
            OSError: the output can't be written.
        """
        self._claims.wait(_WHOLE)
        try:
            is_ours = self._claims.is_current()
            if is_ours and (self.path / _MANIFEST).exists():
                self._join()
            elif is_ours and self._output.exists():
                _remove(self.path)  # A process was killed in doing so.
            elif not self._output.exists():
                raise InputError(
                    f"{self.path}: was removed meanwhile, and {self._output} "
                    "isn't there"
                )
        finally:
            self._claims.release(_WHOLE)

    def _join(self):
        missing = self.unfinished(range(len(self.shards)))
        if missing:
            raise InputError(
                f"{self.path}: {len(missing)} of {len(self.shards)} shards "
                f"are missing: {ranges(missing)}"
            )
        if self._claims.are_kept:
            remove_leftovers_of(self._output)
        with replacing(self._output) as temporary:
            with temporary.open("wb") as output:
                for shard in self.shards:
                    with self.shard_path(shard.number).open("rb") as file:
                        shutil.copyfileobj(file, output, _COPIED_AT_ONCE)
        (self.path / _MANIFEST).rename(self.path / _JOINED)
        _remove(self.path)


def open_folder(job: BulkJob) -> tuple[ShardFolder | None, int | None]:
    """The work folder of a job, made if it isn't there.

    Returns:
        the folder, None if a killed process had joined all its shards; and
        the number of the first line that isn't UTF-8, if the text was read
        for the first time and has one.

    Raises:
        InputError: the folder is another job's, or a file can't be cut.
        OSError: a file can't be read or written.
    """
    for path in job.texts.values():
        if os.path.exists(path) and not os.path.isfile(path):
            raise InputError(
                f"{path}: not a file. Accepted with --shards: a text file, "
                "plain or gzip"
            )
    if os.path.exists(job.output) and not os.path.isfile(job.output):
        raise InputError(
            f"{job.output}: not a file. Accepted with --shards: the path of "
            "a file, new or not"
        )
    claims = _claim_folder(job.folder)
    try:
        if _is_joined(job):
            _remove(job.folder)
            claims.close()
            return None, None
        undecodable = _begin(job)
        folder = ShardFolder(job, claims)
    except BaseException:
        claims.close()
        raise
    claims.release(_WHOLE)
    return folder, undecodable


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


def _claim_folder(path) -> Claims:
    """The claims of a folder, with that of the whole."""
    while True:
        path.mkdir(exist_ok=True)
        try:
            claims = Claims(path / _CLAIMS)
        except FileNotFoundError:
            continue  # Removed meanwhile by a process that has joined.
        claims.wait(_WHOLE)
        if claims.is_current():
            return claims
        claims.close()


def _is_joined(job) -> bool:
    """Whether the job is done but for the removal of its folder.

    What is left of another job's that was done is removed.
    """
    joined = job.folder / _JOINED
    if not joined.is_file():
        return False
    if os.path.exists(job.output) and not difference(
        read_json(joined), job, joined
    ):
        return True
    _empty(job.folder)
    return False


def _begin(job) -> int | None:
    """Writes the manifest, or checks the one that is there.

    Returns:
        the number of the first line that isn't UTF-8, if it was looked for.
    """
    path = job.folder / _MANIFEST
    if path.is_file():
        other = difference(read_json(path), job, path)
        if other:
            raise InputError(
                f"{job.folder}: begun with {other}. Accepted: the same input, "
                "model and options; another output; or none of this folder"
            )
        return None
    others = [
        name
        for name in sorted(os.listdir(job.folder))
        if name != _CLAIMS and not name.startswith(".")
    ]
    if others:
        raise InputError(
            f"{job.folder}: has {others[0]} but no {_MANIFEST}. Accepted: "
            "what `translate --shards` wrote, or no such folder"
        )
    manifest, undecodable = plan(job)
    write_json(path, manifest)
    return undecodable


def _empty(folder):
    """Removes all files but the claims; what tells that it is joined last."""
    names = [n for n in os.listdir(folder) if n not in (_JOINED, _CLAIMS)]
    for name in [*names, _JOINED]:
        (folder / name).unlink(missing_ok=True)


def _remove(folder):
    """Removes a folder that is joined, in an order that a kill can't spoil."""
    _empty(folder)
    (folder / _CLAIMS).unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # Another process begins anew there.
        folder.rmdir()
