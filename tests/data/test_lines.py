"""Lines and corpora with one without end, in every form that is read."""

import gzip
import io
import itertools
import random

import pytest

from keras_transformer.data.corpus import (
    CorpusFile,
    Part,
    file_pairs,
    read_blocks,
    read_pairs,
    read_part,
)
from keras_transformer.data.lines import (
    BYTE_ORDER_MARK,
    LINE_BYTES,
    bounded_lines,
    count_lines_of_block,
    is_over_long,
    lines_of_block,
    shortened,
)
from keras_transformer.data.prepare import prepare
from keras_transformer.errors import InputError
from tests.processes import peak_memory
from tests.word_data import word_data

LIMIT = 20
CONFIG = word_data(target_language="en", target_tokenizer="word")


def content_of(seed):
    """Lines of all lengths about the limit, and what is to be read of them."""
    draw = random.Random(seed)
    lengths = [draw.choice([0, 1, 5, 19, 20, 21, 22, 60]) for _ in range(40)]
    lines = [bytes([97 + draw.randrange(26)]) * length for length in lengths]
    end = draw.choice([b"", b"\n"])
    wanted = [b"" if len(line) > LIMIT else line for line in lines]
    long = [n for n, line in enumerate(lines) if len(line) > LIMIT]
    return b"\n".join(lines) + end, wanted, long


def test_a_byte_order_mark_hides_no_over_long_line(tmp_path):
    content = BYTE_ORDER_MARK + b"a" * (LIMIT + 1 - 3) + b"bbb\nc\n"
    (tmp_path / "a").write_bytes(content)
    file = CorpusFile(tmp_path / "a", tmp_path / "a")
    [block] = read_part(Part(0, file), 1000, LIMIT)
    assert block.pairs() == [("", ""), ("c", "c")]
    assert block.long == (0,)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("size", [1, 7, 50, 10_000])
def test_blocks_have_all_lines_but_long_ones(tmp_path, size, seed):
    content, wanted, long = content_of(seed)
    (tmp_path / "a").write_bytes(content)
    file = CorpusFile(tmp_path / "a", tmp_path / "a")
    lines, emptied = [], []
    for block in read_part(Part(0, file), size, LIMIT):
        emptied += [len(lines) + n for n in block.long]
        lines += block.pairs()
    while len(lines) < len(wanted):
        lines.append(("", ""))  # After the last line's end.
    assert lines == [(line.decode(), line.decode()) for line in wanted]
    assert emptied == long


def test_a_long_line_ends_at_a_character():
    text = "語" * 10 + "\nshort\n"
    first, second = bounded_lines(io.BytesIO(text.encode()), LIMIT)
    assert is_over_long(first, LIMIT)
    assert not is_over_long(second, LIMIT)
    assert shortened(first, LIMIT).decode() == "語" * 6 + "\n"
    assert shortened(second, LIMIT) == b"short\n"


class Endless(io.RawIOBase):
    """A file of one line that never ends, so far as anyone will read."""

    def __init__(self, size):
        self._left = size

    def readable(self):
        return True

    def readinto(self, buffer):
        count = min(len(buffer), self._left)
        buffer[:count] = bytes(count)
        self._left -= count
        return count


def test_memory_is_bounded():
    def peak(read):
        file = io.BufferedReader(Endless(1 << 28))
        return peak_memory(lambda: read(file))[1]

    assert peak(lambda file: list(bounded_lines(file))) < 8 << 20
    whole = 0, None, 1 << 20
    assert peak(lambda file: list(lines_of_block(file, *whole))) < 8 << 20


BAD = "x" * (LINE_BYTES + 1)


@pytest.fixture
def files(tmp_path):
    """The same pairs, of which two are over-long, in each form."""
    pairs = [(f"one{n}", f"uno{n}") for n in range(6)]
    pairs[2:2] = [(BAD, "zu lang")]
    pairs[5:5] = [("zu lang", BAD)]
    table = "".join(f"{a}\t{b}\n" for a, b in pairs).encode()
    (tmp_path / "a.tsv").write_bytes(table)
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(table))
    for name, side in zip(("s", "t"), zip(*pairs, strict=True), strict=True):
        (tmp_path / name).write_text("".join(f"{text}\n" for text in side))
    return {
        "tsv": str(tmp_path / "a.tsv"),
        "gz": str(tmp_path / "a.tsv.gz"),
        "two": f"{tmp_path / 's'},{tmp_path / 't'}",
    }


def test_long_lines_are_counted(files, tmp_path):
    data = prepare([files["two"]], tmp_path / "out", CONFIG, files["tsv"])
    for split in ("train", "dev"):
        counts = data.report["cleaning"][split]
        assert counts["read"] == 8, counts
        assert counts["kept"] == 6, counts
        assert counts["long_line"] == 2
        assert counts["empty"] == 0


@pytest.mark.parametrize("form", ["tsv", "gz", "two"])
def test_blocks_agree_with_a_stream(files, form):
    file, long = CorpusFile.parse(files[form]), []
    streamed = list(file_pairs(file, LIMIT, long))
    blocks = list(read_part(Part(0, file), 40, LIMIT))
    rows = itertools.chain.from_iterable(block.pairs() for block in blocks)
    kept = [pair for pair in streamed if all(pair)]
    assert [pair for pair in rows if all(pair)] == kept
    assert len(kept) == 6
    assert sum(len(block.long) for block in blocks) == len(set(long)) == 2
    with pytest.raises(InputError, match="line 3: more than 20 bytes"):
        list(read_pairs([file], LIMIT))


@pytest.mark.medium
def test_a_gzip_bomb_is_one_long_line(tmp_path):
    path = tmp_path / "bomb.tsv.gz"
    with gzip.open(path, "wb", 1) as file:
        file.write(b"a\tb\n")
        for _ in range(300):
            file.write(bytes(1 << 20))
        file.write(b"\nc\td\n")
    blocks, peak = peak_memory(lambda: list(read_blocks([CorpusFile(path)])))
    assert peak < 32 << 20
    pairs = [pair for block in blocks for pair in block.pairs()]
    assert pairs == [("a", "b"), ("", ""), ("c", "d")]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("size", [1, 7, 50, 10_000])
def test_parts_of_a_file_have_each_line_once(size, seed):
    content, _, _ = content_of(seed)
    ends = [
        (begin, begin + size) for begin in range(0, len(content) + size, size)
    ]
    lines = [
        list(lines_of_block(io.BytesIO(content), begin, end, LIMIT))
        for begin, end in ends
    ]
    whole = list(bounded_lines(io.BytesIO(content), LIMIT))
    assert list(itertools.chain(*lines)) == whole
    assert list(map(len, lines)) == [
        count_lines_of_block(io.BytesIO(content), begin, end)
        for begin, end in ends
    ]
    alone = lines_of_block(io.BytesIO(content), 0, None, LIMIT)
    assert list(alone) == whole
    assert count_lines_of_block(io.BytesIO(content), 0, None) == len(whole)
