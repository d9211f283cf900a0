"""Text files, plain or packed: their lines, and what is wrong there."""

import itertools
from collections.abc import Iterable, Iterator

from keras_transformer.data.lines import (
    BYTE_ORDER_MARK,
    DAMAGED,
    as_text,
    damage,
    refuse_old_line_ends,
    shortened,
)
from keras_transformer.errors import InputError


def decoded_lines(
    file: Iterable[bytes], name: str, first: int | None = None
) -> Iterator[str]:
    """Yields lines as text, their ends included; over-long ones cut.

    What is beyond `LINE_BYTES` is far beyond any model's positions.

    Args:
        file: lines, as `bounded_lines` yields them.
        name: the file's, for an error's message.
        first: number of the first line of a part; None: a whole file is
            read.

    Raises:
        InputError: a line isn't text, see `as_text`, the only line has CR
            where lines should end, or a packed file is damaged.
    """
    lines, last = iter(file), b""
    for number in itertools.count(first or 1):
        try:
            line = next(lines, None)
        except DAMAGED as error:
            where = f"{name}, line {number}"
            raise InputError(f"{where}: {damage(error, name)}") from None
        if line is None:
            if first is None and number == 2:
                refuse_old_line_ends(last, name)
            return
        last = line
        line = shortened(line)
        if number == 1:
            line = line.removeprefix(BYTE_ORDER_MARK)
        yield as_text(line, name, number)


def missing_prefix(path: str, number: int, shorter: str) -> InputError:
    """The error of a file that hasn't a prefix for each line of input.

    Args:
        path: of the prefixes.
        number: of the first line that only one of the files has.
        shorter: the file that lacks it.
    """
    return InputError(
        f"{path}: a prefix for each line of input is needed, an empty line "
        f"for none. Received: no line {number} in {shorter}"
    )
