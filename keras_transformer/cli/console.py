"""Console input and output: lines of text, progress, messages."""

import contextlib
import gzip
import io
import os
import pathlib
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TextIO

from tqdm import tqdm

from keras_transformer.data.lines import (
    bounded_lines,
    decoded_lines,
    open_bytes,
    unpacked,
)
from keras_transformer.errors import InputError, shown
from keras_transformer.lazy import quick_imports
from keras_transformer.system.files import replacing
from keras_transformer.system.machine import choose_onednn
from keras_transformer.training import jax_runtime

# Seconds between progress lines without a terminal, and between updates of the
# note behind a bar.
_LOG_INTERVAL, _NOTE_INTERVAL = 20.0, 0.5
PROGRAM = "keras-transformer"
# Characters of an error: enough for long lists of accepted values, but not for
# any received value.
_LONGEST_ERROR = 2000
# Control and formatting characters, surrogates, line and paragraph separators:
# a terminal executes some, others hide or reverse the text around them.
_UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
# Without the joiners, Persian, the languages of India and emoji are spelt
# wrong; they only change the forms of their neighbours.
_JOINERS = "\u200c\u200d"
# Suffixes of compressions that readers know, but that aren't written here.
_NOT_WRITTEN = (".bz2", ".lzma", ".xz", ".z", ".zip", ".zst")
_speaker = ""


def visible(text: str, kept: str = "") -> str:
    """Escapes characters that a terminal would execute or hide.

    Names, keys and messages may come from untrusted files and servers.

    Args:
        text: any.
        kept: characters that stay in any case, such as line ends.

    Returns:
        the text with control, formatting and separating characters and
        surrogates as `\\x1b`, `\\u202e` or `\\U000e0041`; the joiners of
        ordinary text, U+200C and U+200D, stay.
    """
    if text.isprintable():
        return text
    kept += _JOINERS
    return "".join(
        character.encode("unicode_escape").decode()
        if unicodedata.category(character) in _UNSEEN and character not in kept
        else character
        for character in text
    )


def say(text: str) -> None:
    """Writes a line for the user to stderr.

    Errors of writing are ignored: of a closed terminal, a pipe whose reader has
    ended, a full disk.
    """
    _write_line(visible(f"{_speaker}{text}", "\n\t"))


def say_as(speaker: str) -> None:
    """Begins later lines with the name of this process, one of several."""
    global _speaker
    _speaker = f"{speaker}: "


def tell_error(message: str) -> None:
    """Writes the single line with which a failed command ends."""
    line = visible(" ".join(f"{_speaker}{message}".split()))
    if len(line) > _LONGEST_ERROR:
        half = _LONGEST_ERROR // 2
        line = f"{line[:half]} ... {line[-half:]}"
    _write_line(f"{PROGRAM}: error: {line}")


def _write_line(line):
    """Writes to stderr; a progress bar there is drawn again below the line."""
    with (
        contextlib.suppress(OSError),
        tqdm.external_write_mode(sys.stderr, nolock=True),
    ):
        print(line, file=sys.stderr, flush=True)


class Progress(contextlib.AbstractContextManager):
    """A bar on a terminal or occasional lines in a log, with the rate.

    Args:
        description: of the work.
        total: number of units, if known.
        unit: plural noun for the units.
        shown: whether anything is shown at all.
        done: units that were finished before.
    """

    def __init__(
        self,
        description: str,
        total: int | None = None,
        unit: str = "lines",
        shown: bool = True,
        done: int = 0,
    ) -> None:
        self._description = description
        self._total = total
        self._unit = unit
        self._last = time.monotonic()
        # Time and units done at the first update.
        self._first: tuple[float, int] | None = None
        self._done = done
        self._shown = shown
        self._bar = None
        if shown and sys.stderr.isatty():
            self._bar = tqdm(
                desc=description,
                total=total,
                initial=done,
                unit=f" {unit}",
                leave=False,
                dynamic_ncols=True,
            )

    def update(self, done: int, note: Callable[[], str] = str) -> None:
        """Shows the number of finished units.

        Args:
            done: the number.
            note: returns the text behind it; called only when it is shown.
        """
        now = time.monotonic()
        if self._bar is not None:
            if now - self._last >= _NOTE_INTERVAL:
                self._last = now
                self._bar.set_postfix_str(note(), refresh=False)
            with contextlib.suppress(OSError):  # The terminal was closed.
                self._bar.update(done - self._bar.n)
            return
        self._first = self._first or (now, done)
        if self._shown and now - self._last >= _LOG_INTERVAL:
            self._last = now
            of = f"/{self._total}" if self._total else ""
            line = f"{self._description}: {done}{of} {self._unit}"
            rate = self._rate(*self._first, now, done)
            say(f"{line}{rate} {note()}".rstrip())

    def _rate(self, began, before, now, done):
        if now <= began:
            return ""
        return f", {(done - before) / (now - began):.4g} a second"

    def advance(self, count: int) -> None:
        """Adds to the number of finished units, and shows it."""
        self._done += count
        self.update(self._done)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends what is shown."""
        if self._bar is not None:
            with contextlib.suppress(OSError):
                self._bar.close()


class Stages(contextlib.AbstractContextManager):
    """A `progress(stage, done, total)` callback: a `Progress` per stage."""

    def __init__(self, unit: str = "lines") -> None:
        self._unit = unit
        self._stage: str | None = None
        self._progress: Progress | None = None

    def __call__(self, stage: str, done: int, total: int | None = None) -> None:
        if self._progress is None or stage != self._stage:
            self.close()
            self._stage = stage
            self._progress = Progress(stage, total, self._unit)
        self._progress.update(done)

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends what is shown."""
        if self._progress is not None:
            self._progress.close()
            self._progress = None


def load_tensorflow(backend: str = "tensorflow", sentences: int = 1) -> None:
    """Imports TensorFlow, faster than `import` does.

    Args:
        backend: of Keras.
        sentences: number that will be translated together.
    """
    # Text, data and export need TensorFlow, so most commands run on it.
    os.environ["KERAS_BACKEND"] = backend
    if "tensorflow" in sys.modules:
        return
    choose_onednn(sentences)
    # If installed, TensorFlow Lite imports JAX, and Keras' plots Matplotlib.
    unused = {"jax", "matplotlib"} - {backend}
    with quick_imports(*unused):
        import tensorflow  # noqa: F401


def load_jax() -> None:
    """Prepares training on JAX, with a TensorFlow that reads data on the CPU.

    Raises:
        InputError: JAX isn't installed, or this process uses Keras already.
    """
    if not jax_runtime.is_installed():
        raise InputError(
            "--backend jax: JAX isn't installed. Accepted: --backend "
            "tensorflow, or pip install '.[jax]' in the project's folder, and "
            "'jax[cuda12]' or 'jax[tpu]' on an accelerator"
        )
    keras = sys.modules.get("keras")
    if keras is not None and keras.backend.backend() != "jax":
        raise InputError(
            "--backend jax: Keras already runs on "
            f"{keras.backend.backend()} here. Accepted: a process of its own"
        )
    load_tensorflow("jax")


def table(rows: Sequence[Sequence[str]]) -> str:
    """Formats rows as lines of aligned columns."""
    rows = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows
    )


def input_lines(path: str | os.PathLike | None) -> Iterator[str]:
    """Yields the lines of a file, plain or compressed, or of stdin.

    Raises:
        InputError: a line isn't text, the only line has CR in it, or a
            compressed file is damaged.
    """
    # stdin, which may be closed, is accessed only if it is to be read.
    source: Any
    if path:
        source = open_bytes(path)
    elif sys.stdin.isatty():
        # To read its first bytes in advance would swallow a typed end of file.
        source = contextlib.nullcontext(sys.stdin.buffer)
    else:
        source = unpacked(sys.stdin.buffer, "stdin")
    with source as file:
        yield from decoded_lines(bounded_lines(file), str(path or "stdin"))


def argument_text(text: str, name: str) -> str:
    """A text of the command line as UTF-8, whatever the locale says.

    Args:
        text: as Python has decoded it.
        name: of the argument, for an error's message.

    Raises:
        InputError: it isn't UTF-8.
    """
    try:
        return os.fsencode(text).decode("utf-8")
    except UnicodeError:
        raise InputError(
            f"{name}: not UTF-8. Received: {shown(text, 40)}. Accepted: UTF-8 "
            "text"
        ) from None


def check_outputs(
    outputs: Iterable[str | None], inputs: Iterable[str | os.PathLike]
) -> None:
    """Refuses files that can't be written, before hours of work.

    Args:
        outputs: paths of files to write; None: no file.
        inputs: paths of files to read.

    Raises:
        InputError: an output's folder doesn't exist or isn't writable, the
            output is a folder, an input or another output, or its name is that
            of a compression that isn't written.
    """
    taken = {os.path.realpath(path): "is read" for path in inputs}
    for path in filter(None, outputs):
        target = pathlib.Path(path)
        if target.is_dir():
            raise InputError(f"{path}: is a folder. Accepted: a file")
        if target.suffix.lower() in _NOT_WRITTEN:
            raise InputError(
                f"{path}: plain text and gzip are written. Accepted: a name "
                "that ends in .gz, or in none of a compression"
            )
        if not target.absolute().parent.is_dir():
            raise InputError(f"{path}: there is no such folder to write to")
        # The real path of a pipe behind /dev/stdout opens nothing.
        is_device = target.exists() and not target.is_file()
        real = os.path.realpath(path)
        folder = pathlib.Path(real).parent
        if not is_device and not os.access(folder, os.W_OK):
            raise InputError(f"{path}: its folder can't be written to")
        if real in taken and not is_device:
            raise InputError(
                f"{path} {taken[real]}, too: its content would be lost. "
                "Accepted: another file"
            )
        taken[real] = "is written"


@contextlib.contextmanager
def output_file(path: str | os.PathLike | None) -> Iterator[TextIO]:
    """Opens the output for results; a file appears when it is complete.

    Args:
        path: of the file, which is compressed if the name ends in .gz; None:
            stdout.
    """
    if path is None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8")
        yield sys.stdout
        return
    with contextlib.ExitStack() as stack:
        temporary = stack.enter_context(replacing(path))
        raw: Any = stack.enter_context(temporary.open("wb"))
        if pathlib.Path(path).suffix.lower() == ".gz":
            raw = stack.enter_context(gzip.GzipFile("", "wb", 6, raw, 0))
        yield stack.enter_context(io.TextIOWrapper(raw, encoding="utf-8"))
