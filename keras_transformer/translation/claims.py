"""Claims: who among several processes does a piece of work.

A claim is the lock of one byte of a file. The system frees it when its
process dies, however that happens; file systems that hosts share (NFS 4,
Lustre, GPFS) tell it to the others. Where a file system has no locks, all
get every claim: what they do is then done again, and nothing is lost.
"""

import errno
import fcntl
import os

# What a file system says that has no locks.
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


class Claims:
    """A file whose bytes are claimed.

    A process opens the file once: closing it anywhere frees all claims, as
    POSIX has it.

    Args:
        path: of the file, made if it isn't there.

    Attributes:
        are_kept: whether claims keep others away, as far as is known.

    Raises:
        OSError: it can't be opened.
    """

    def __init__(self, path: str | os.PathLike):
        self._path = path
        self._file = open(path, "ab")
        self.are_kept = True

    def claim(self, index: int) -> bool:
        """Claims a byte if nobody else has it; whether it is claimed."""
        return self._lock(fcntl.LOCK_EX | fcntl.LOCK_NB, index)

    def wait(self, index: int):
        """Claims a byte as soon as nobody else has it."""
        self._lock(fcntl.LOCK_EX, index)

    def release(self, index: int):
        """Gives a claim up."""
        self._lock(fcntl.LOCK_UN, index)

    def is_current(self) -> bool:
        """Whether the file still has its name, and wasn't removed."""
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            return False
        return os.path.samestat(status, os.fstat(self._file.fileno()))

    def close(self):
        """Gives all claims up."""
        self._file.close()

    def _lock(self, how, index):
        try:
            fcntl.lockf(self._file, how, 1, index)
        except (BlockingIOError, PermissionError):
            return False  # Another process has it.
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
            self.are_kept = False
        return True
