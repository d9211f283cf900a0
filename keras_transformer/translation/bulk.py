"""Bulk translation: shards in turn, those that failed tried again.

Shards are claimed one by one, so that any number of processes can be at the
same text: see `shard_folder`.
"""

import collections
import contextlib
import dataclasses
import errno
import time
from collections.abc import Callable, Iterable, Iterator

from keras_transformer.errors import InputError
from keras_transformer.translation.request import blank_translation
from keras_transformer.translation.shard_folder import ShardFolder, ranges
from keras_transformer.translation.shards import Shard, ShardReader
from keras_transformer.translation.stream import (
    BATCHES_A_WINDOW,
    TranslateBatches,
    stream_lines,
)

# What may befall a shard and spare the next.
FAILURES = (InputError, OSError, MemoryError)
# What would befall the next, too.
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Seconds between two looks at what other processes are doing.
_POLL_SECONDS = 1.0

# From numbers of shards to a pair for each that was tried: its number, and
# why it failed, None if it didn't. Shards of other processes are left out.
Attempt = Callable[[list[int]], Iterator[tuple[int, str | None]]]


@dataclasses.dataclass(frozen=True)
class ShardWriting:
    """How a shard is written. Can be pickled.

    Attributes:
        batch_size: lines translated together, at most.
        format: from a translation and `number`, that of its line from 1, to
            what is written.
        window: lines that are sorted together, of which shards are made;
            None: `window_of` the batch size.
    """

    batch_size: int
    format: Callable[..., str]
    window: int | None = None

    def write(
        self,
        folder: ShardFolder,
        shard: Shard,
        reader: ShardReader,
        translate_batches: TranslateBatches,
        truncated: Callable[[int], None],
        progress: Callable[[int], None] | None = None,
    ) -> None:
        """Translates a shard that is claimed.

        Args:
            folder: where it is written.
            shard: the shard.
            reader: of the text.
            translate_batches: see `stream_lines`.
            truncated: called with the number of a line that lost its end.
            progress: called with the number of lines just finished.

        Raises:
            InputError, OSError: of reading, translating or writing.
        """
        with folder.writing_shard(shard.number) as file:
            translations = stream_lines(
                reader.lines(shard),
                translate_batches,
                self.batch_size,
                self.window or window_of(self.batch_size),
                blank=blank_translation,
                progress=progress,
            )
            for number, translation in enumerate(translations, shard.line + 1):
                file.write(self.format(translation, number=number))
                if translation.truncated:
                    truncated(number)


def window_of(batch_size: int) -> int:
    """Lines that are sorted together, of which shards are made."""
    return BATCHES_A_WINDOW * batch_size


class LocalAttempt:
    """An `Attempt` of this process and its workers. A context manager.

    Args:
        folder: the work folder.
        reader: of the text.
        writing: how shards are written.
        open_translator: gives a context manager of what translates batches.
            Its errors end the work: what can't be loaded for one shard can't
            for any.
        truncated: called with the number of a line that lost its end.
        progress: called with the number of lines of all shards that are
            done, whoever did them.
    """

    def __init__(
        self,
        folder: ShardFolder,
        reader: ShardReader,
        writing: ShardWriting,
        open_translator: Callable[[], contextlib.AbstractContextManager],
        truncated: Callable[[int], None],
        progress: Callable[[int], None],
    ) -> None:
        self._folder = folder
        self._reader = reader
        self._writing = writing
        self._open = open_translator
        self._truncated = truncated
        self._progress = progress
        self._opened = contextlib.ExitStack()
        self._translate_batches = None

    def __enter__(self) -> "LocalAttempt":
        return self

    def __exit__(self, *_: object) -> None:
        self._close()

    def __call__(self, numbers: list[int]) -> Iterator[tuple[int, str | None]]:
        """Translates these shards; yields why each failed, or None."""
        for number in numbers:
            with self._folder.claim(number) as is_ours:
                if is_ours:
                    yield number, self._try(self._folder.shards[number])

    def _try(self, shard):
        """Translates a shard; why it failed, None if it didn't."""
        try:
            # Before anything of it is translated, and workers are disturbed.
            self._reader.check(shard)
        except FAILURES as error:
            return reason_of(error)
        translate_batches = self._translator() if shard.lines else iter
        try:
            self._writing.write(
                self._folder,
                shard,
                self._reader,
                translate_batches,
                self._truncated,
                self._counter(),
            )
        except FAILURES as error:
            if getattr(error, "errno", None) in _DISK_FULL:
                raise
            self._close()  # Workers may be dead.
            return reason_of(error)
        return None

    def _translator(self):
        if self._translate_batches is None:
            self._translate_batches = self._opened.enter_context(self._open())
        return self._translate_batches

    def _counter(self):
        """A progress callback for one shard."""
        done = finished_lines(self._folder)

        def count(lines):
            nonlocal done
            done += lines
            self._progress(done)

        return count

    def _close(self):
        self._translate_batches = None
        self._opened.close()


def finish(
    folder: ShardFolder,
    numbers: Iterable[int],
    attempt: Attempt,
    retries: int,
    tell: Callable[[str], None],
) -> dict[int, str]:
    """Translates shards until each is finished or has failed too often.

    Waits for those that other processes have claimed.

    Args:
        folder: the work folder.
        numbers: of the shards.
        attempt: translates some of them.
        retries: how often a shard that failed is tried again.
        tell: called with a line for each failure.

    Returns:
        `{number: why it failed}` of those that are left.
    """
    numbers = list(numbers)
    failures: collections.Counter = collections.Counter()
    reasons: dict = {}
    while True:
        left = folder.unfinished(numbers)
        due = [number for number in left if failures[number] <= retries]
        if not due:
            return {number: reasons[number] for number in left}
        idle = True
        for number, reason in attempt(due):
            idle = False
            if reason is not None:
                failures[number] += 1
                reasons[number] = reason
                tries = f"try {failures[number]} of {retries + 1}"
                tell(f"shard {number} failed ({tries}): {reason}")
        if idle:
            time.sleep(_POLL_SECONDS)


def check_finished(folder: ShardFolder, left: dict[int, str]) -> None:
    """Refuses to go on without shards that have failed.

    Args:
        folder: the work folder.
        left: what `finish` returns.

    Raises:
        InputError: names them, and why the first one failed.
    """
    if left:
        reason = next(iter(left.values()))
        raise InputError(
            f"{folder.path}: {len(left)} of {len(folder.shards)} shards are "
            f"left: {ranges(sorted(left))} ({reason}). The same command tries "
            "them again"
        )


def finished_lines(folder: ShardFolder) -> int:
    """Lines of all shards that are translated."""
    left = set(folder.unfinished(range(len(folder.shards))))
    return sum(
        shard.lines for shard in folder.shards if shard.number not in left
    )


def reason_of(error: Exception) -> str:
    """Why a shard failed, in one line."""
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    return " ".join(str(error).split())
