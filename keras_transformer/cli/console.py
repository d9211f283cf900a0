"""Progress and messages on stderr."""

import contextlib
import os
import sys
import time

from tqdm import tqdm

# Seconds between two progress lines where there is no terminal.
_LOG_INTERVAL = 20.0


def say(text: str):
    """A line for the person, not for the pipe."""
    print(text, file=sys.stderr, flush=True)


class Progress:
    """A bar on a terminal, a line now and then in a log.

    Args:
        description: what is being done.
        total: how many units there are, if known.
        unit: name of one.
    """

    def __init__(self, description, total=None, unit="lines"):
        self._description = description
        self._total = total
        self._unit = unit
        self._last = time.monotonic()
        self._bar = None
        if sys.stderr.isatty():
            self._bar = tqdm(
                desc=description,
                total=total,
                unit=f" {unit}",
                leave=False,
                dynamic_ncols=True,
            )

    def update(self, done: int, note: str = ""):
        """So many units are done; `note` is shown behind them."""
        if self._bar is not None:
            self._bar.set_postfix_str(note, refresh=False)
            self._bar.update(done - self._bar.n)
            return
        now = time.monotonic()
        if now - self._last >= _LOG_INTERVAL:
            self._last = now
            of = f"/{self._total}" if self._total else ""
            say(f"{self._description}: {done}{of} {self._unit} {note}".rstrip())

    def close(self):
        if self._bar is not None:
            self._bar.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Stages:
    """A `progress(stage, done, total)` callback: a `Progress` per stage."""

    def __init__(self, unit="lines"):
        self._unit = unit
        self._stage = None
        self._progress = None

    def __call__(self, stage, done, total=None):
        if stage != self._stage:
            self.close()
            self._stage = stage
            self._progress = Progress(stage, total, self._unit)
        self._progress.update(done)

    def close(self):
        if self._progress is not None:
            self._progress.close()
            self._progress = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def load_tensorflow():
    """Imports TensorFlow without the chatter of its C++ start-up."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if "tensorflow" in sys.modules or "TF_CPP_VERBOSE" in os.environ:
        return
    with _quiet_stderr():
        import tensorflow  # noqa: F401
        import tensorflow_text  # noqa: F401


@contextlib.contextmanager
def _quiet_stderr():
    """Keeps C++ code from writing to stderr, unless it ends in an error."""
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "wb") as null:
        os.dup2(null.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def table(rows: list[tuple[str, str]]) -> str:
    """Two aligned columns."""
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)
