"""Pre-trained word vectors: word2vec and GloVe, as text."""

import contextlib
import gzip
import os
import zlib
from collections.abc import Iterator

import numpy as np

from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.errors import InputError

_ACCEPTED = "Accepted: word2vec or GloVe, as text"
# Bytes. Longer than in any valid file, so that a damaged one can't fill memory.
_LONGEST_LINE = 1 << 20
_LONGEST_COUNT = 18  # digits


def load_vectors(
    path: str | os.PathLike, tokens: list[str], width: int
) -> tuple[np.ndarray, float]:
    """Reads the vectors of a vocabulary from a larger file.

    The format is recognised by the content: word2vec begins with a line of
    two counts, GloVe with the first vector. The file may be compressed with
    gzip. Only the vocabulary's rows are kept in memory; the first one of a
    repeated token.

    Args:
        path: the file.
        tokens: a vocabulary in the order of its ids, as `Tokenizer.tokens`.
        width: numbers per vector, the model's `d_model`.

    Returns:
        A float32 matrix `(len(tokens), width)` whose rows are NaN for tokens
        that the file doesn't have, and the fraction of the vocabulary, without
        reserved tokens, that it has.

    Raises:
        InputError: the file doesn't exist, is damaged, or has a vector of
            another width; the message names the file and, if known, the line.
    """
    reserved = len(SPECIAL_TOKENS)
    rows = {
        token.encode(): row
        for row, token in enumerate(tokens)
        if row >= reserved
    }
    matrix = np.full((len(tokens), width), np.nan, np.float32)
    present = set()
    with _opened(path) as file:
        for token, vector in _read(file, path, rows, width):
            if token not in present:
                matrix[rows[token]] = vector
                present.add(token)
    return matrix, len(present) / max(1, len(rows))


def require_width(path: str | os.PathLike, width: int) -> None:
    """Refuses a file whose first vector has another width.

    Reads no further vectors.

    Args:
        path: the file.
        width: numbers per vector.

    Raises:
        InputError: see `load_vectors`.
    """
    with _opened(path) as file:
        next(_read(file, path, _Everything(), width), None)


class _Everything:
    """A vocabulary that contains every token."""

    def __contains__(self, token):
        return True


@contextlib.contextmanager
def _opened(path):
    try:
        with _open(path) as file:
            yield file
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise InputError(f"{path}: a damaged gzip file") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}. {_ACCEPTED}") from None


def _open(path):
    # The name as given, because `Path` would drop a trailing slash.
    file = open(path, "rb")  # noqa: PTH123
    if file.peek(2)[:2] == b"\x1f\x8b":
        file.close()
        return gzip.open(path, "rb")
    return file


def _read(file, path, rows, width) -> Iterator[tuple[bytes, np.ndarray]]:
    """Yields the tokens of the file that are in `rows`, and their vectors."""
    header = file.readline(_LONGEST_LINE).split()
    if len(header) != 2 or not all(map(_is_count, header)):
        file.seek(0)
        yield from _read_text(file, path, rows, width, line_number=1)
        return
    count, file_width = map(int, header)
    if file_width != width:
        raise _wrong_width(path, 1, file_width, width)
    yield from _read_text(file, path, rows, width, 2, count)


def _is_count(field):
    # Python refuses to convert thousands of digits to an integer.
    return field.isdigit() and len(field) <= _LONGEST_COUNT


def _read_text(file, path, rows, width, line_number, count=None):
    """Reads lines of a token and numbers: `count` lines, unless None."""
    read = 0
    while line := file.readline(_LONGEST_LINE):
        # Some files have a tab after the token, or between the numbers, too.
        line = line.replace(b"\t", b" ")
        token, numbers = _split_line(line.rstrip(b"\r\n "), width)
        if token is None:
            received = sum(map(_is_number, line.split()[1:]))
            raise _wrong_width(path, line_number, received, width)
        # The first vector is always parsed, to refuse other kinds of files.
        if token in rows or read == 0:
            vector = _vector(numbers, path, line_number)
            if token in rows:
                yield token, vector
        read += 1
        line_number += 1
    if count is not None and read != count:
        raise InputError(
            f"{path}, line 1: announces {count} vectors, but {read} follow. "
            f"{_ACCEPTED}, whole"
        )
    if read == 0:
        raise InputError(f"{path}: no vectors. {_ACCEPTED}")


def _split_line(line, width):
    """Splits a line into token and unparsed numbers; None if it doesn't fit."""
    spaces = line.count(b" ")
    if spaces < width:
        return None, None
    if spaces == width:  # The fast path for nearly every line.
        token, _, numbers = line.partition(b" ")
        return token, numbers
    # A few tokens of GloVe contain spaces, but none ends in a number.
    fields = line.rsplit(b" ", width)
    if _is_number(fields[0].split()[-1] if fields[0].split() else b"0"):
        return None, None
    return fields[0], b" ".join(fields[1:])


def _is_number(field):
    try:
        float(field)
    except ValueError:
        return False
    return True


def _vector(numbers, path, line_number):
    try:
        vector = np.array(numbers.split(b" "), np.float32)
    except ValueError:
        vector = np.array([np.nan])
    if not np.isfinite(vector).all():
        raise InputError(
            f"{path}, line {line_number}: not a vector. Received: "
            f"{numbers[:60].decode(errors='replace')!r}. {_ACCEPTED}"
        )
    return vector


def _wrong_width(path, line_number, received, width):
    return InputError(
        f"{path}, line {line_number}: vectors of {received} numbers. "
        f"{_ACCEPTED}, of {width} numbers, as model.d_model says"
    )
