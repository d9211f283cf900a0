"""Bulk translation: translates shards in turn and retries those that failed.

Shards are claimed one by one, so that any number of processes can work on the
same text: see `shard_folder`.
"""

import collections
import contextlib
import time
from collections.abc import Callable, Iterable, Iterator

from keras_transformer.errors import InputError
from keras_transformer.system.files import DISK_FULL
from keras_transformer.translation.request import blank_translation
from keras_transformer.translation.shard_folder import ShardFolder, ranges
from keras_transformer.translation.shards import shard_lines
from keras_transformer.translation.stream import TranslateBatches, stream_lines

# Errors after which a shard is tried again.
_FAILURES = (InputError, OSError, MemoryError)
# Seconds between checks of the progress of other processes.
_POLL_SECONDS = 1.0

# Function from shard numbers to pairs of a number and the reason why that shard
# failed, or None. Shards that other processes have claimed are left out.
Attempt = Callable[[list[int]], Iterator[tuple[int, str | None]]]


class LocalAttempt:
    """An `Attempt` of this process and its workers. A context manager.

    Args:
        folder: the work folder.
        open_translator: returns a context manager of a batch translator. Its
            errors aren't retried: a model that can't be loaded for one shard
            can't be for the others.
        format: function from a translation and `number`, its line number
            from 1, to the text to write.
        truncated: called with the number of a truncated line.
        progress: called with the number of lines of all shards that are
            done, by any process.
    """

    def __init__(
        self,
        folder: ShardFolder,
        open_translator: Callable[[], contextlib.AbstractContextManager],
        format: Callable[..., str],
        truncated: Callable[[int], None],
        progress: Callable[[int], None],
    ) -> None:
        self._folder = folder
        self._open = open_translator
        self._format = format
        self._truncated = truncated
        self._progress = progress
        self._opened = contextlib.ExitStack()
        self._translate_batches: TranslateBatches | None = None

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
        """Translates a shard; returns why it failed, or None."""
        if shard.lines and self._translate_batches is None:
            self._translate_batches = self._opened.enter_context(self._open())
        try:
            self._translate(shard)
        except _FAILURES as error:
            if getattr(error, "errno", None) in DISK_FULL:
                raise
            self._close()  # Workers may be dead.
            return _reason(error)
        return None

    def _translate(self, shard):
        job = self._folder.job
        done = self._folder.finished_lines()

        def count(lines):
            nonlocal done
            done += lines
            self._progress(done)

        truncated = []
        # A shard of blank lines needs no model.
        translate_batches = self._translate_batches or iter
        with self._folder.writing_shard(shard.number) as file:
            translations = stream_lines(
                shard_lines(list(job.texts.values()), shard),
                translate_batches,
                job.batch_size,
                job.window,
                blank=blank_translation,
                progress=count,
            )
            for number, translation in enumerate(translations, shard.line + 1):
                file.write(self._format(translation, number=number))
                if translation.truncated:
                    truncated.append(number)
        # Only after success, as another attempt would count them again.
        for number in truncated:
            self._truncated(number)

    def _close(self):
        self._translate_batches = None
        self._opened.close()


def finish(
    folder: ShardFolder,
    numbers: Iterable[int],
    attempt: Attempt,
    retries: int,
    tell: Callable[[str], None],
    end: Callable[[], dict[int, str]],
) -> None:
    """Translates shards until each is finished or has failed too often.

    Waits for shards that other processes have claimed.

    Args:
        folder: the work folder.
        numbers: of the shards.
        attempt: translates some of them.
        retries: how often a shard that failed is tried again.
        tell: called with a line for each failure.
        end: called when all are finished; returns shards to translate again,
            and why: see `ShardFolder.join` and `ShardFolder.discard_damaged`.

    Raises:
        InputError: shards are left; names them, and why the first one failed.
    """
    numbers = list(numbers)
    tries: collections.Counter = collections.Counter()
    reasons: dict = {}

    def failed(number, reason):
        tries[number] += 1
        reasons[number] = reason
        told = f"try {tries[number]} of {retries + 1}"
        tell(f"shard {number} failed ({told}): {reason}")

    while True:
        if not (left := folder.unfinished(numbers)):
            if not (again := end()):
                return
            for number, why in again.items():
                failed(number, why)
            continue
        due = [number for number in left if tries[number] <= retries]
        if not due:
            raise InputError(
                f"{folder.path}: {len(left)} of {len(folder.shards)} shards "
                f"are left: {ranges(left)} ({reasons[left[0]]}). The same "
                "command tries them again"
            )
        idle = True
        for number, reason in attempt(due):
            idle = False
            if reason is not None:
                failed(number, reason)
        if idle:
            time.sleep(_POLL_SECONDS)


def _reason(error: Exception) -> str:
    """The reason why a shard failed, in one line."""
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    return " ".join(str(error).split())
