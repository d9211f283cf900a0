"""Lines from a file or stdin, and to a file or stdout."""

import contextlib
import sys

from keras_transformer.errors import InputError


def read_lines(path):
    """Yields the lines of a file, or of stdin if there is no path.

    Raises:
        InputError: a line isn't UTF-8.
    """
    name = path or "stdin"
    source = (
        open(path, "rb") if path else contextlib.nullcontext(sys.stdin.buffer)
    )
    with source as file:
        for number, line in enumerate(file, 1):
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError:
                raise InputError(
                    f"{name}, line {number}: not UTF-8. Accepted: UTF-8 text"
                ) from None


@contextlib.contextmanager
def writing(path):
    """Where results go; a file appears when it is complete."""
    if path is None:
        sys.stdout.reconfigure(encoding="utf-8")
        yield sys.stdout
        return
    from keras_transformer.files import replacing

    with replacing(path) as temporary:
        with open(temporary, "w", encoding="utf-8") as file:
            yield file
