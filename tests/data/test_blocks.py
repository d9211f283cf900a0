import gzip

import pytest

from keras_transformer.data.blocks import corpus_bytes, read_blocks
from keras_transformer.data.corpus import CorpusFile, read_pairs
from keras_transformer.errors import InputError

CONTENTS = {
    "plain": "a\tb\nc\td\n",
    "no end": "a\tb\nc\td",
    "mark": "\ufeffa\tb\nc\td\n",
    "CR LF": "a\tb\r\nc\td\r\n",
    "blank lines": "\n  \na\tb\n\n",
    "more columns": "a\tb\tc\td\ne\tf\n",
    "other line ends": "a\u2028b\x0bc\td\x85e\n",
    "long": "".join(f"source {n} 源\ttarget {n}\n" for n in range(500)),
    "empty": "",
    "one line": "a\tb",
    "CR in a field": "a\rb\tc\nd\te\r\r\nf\tg\rh\n",
}


def pairs_of(files, size):
    blocks = list(read_blocks(files, size))
    return blocks, [pair for block in blocks for pair in block.pairs()]


@pytest.mark.parametrize("size", [1, 7, 1000, 1 << 20])
@pytest.mark.parametrize("name", CONTENTS)
def test_blocks_have_the_pairs_that_a_stream_has(write, name, size):
    content = CONTENTS[name].encode()
    plain = CorpusFile(write("a.tsv", content))
    packed = CorpusFile(write("b.tsv.gz", gzip.compress(content)))
    wanted = list(read_pairs([plain]))
    blocks, pairs = pairs_of([plain], size)
    assert pairs == wanted
    assert pairs_of([packed], size)[1] == wanted
    if name == "long":
        assert (len(blocks) > 1) == (size < 1 << 20)
        numbers = [block.first_line for block in blocks]
        lengths = [len(block.pairs()) for block in blocks]
        assert numbers == [1 + sum(lengths[:n]) for n in range(len(blocks))]


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_two_files_go_line_by_line(write, size):
    sources = "".join(f"source {n}\n" for n in range(300))
    targets = "\ufeff" + "".join(f"{'目' * (n % 9)}{n}\r\n" for n in range(300))
    file = CorpusFile(
        write("a.en", sources),
        write("a.zh.gz", gzip.compress(targets.encode())),
    )
    _, pairs = pairs_of([file], size)
    assert pairs == list(read_pairs([file]))
    assert len(pairs) == 300


def test_blocks_number_their_file(write):
    files = [CorpusFile(write(name, "a\tb\n")) for name in "xyz"]
    blocks, _ = pairs_of(files, 100)
    assert [block.corpus for block in blocks] == [0, 1, 2]
    assert [block.file for block in blocks] == files


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("a\tb\n" * 40 + "lonely\n", r"a\.tsv, line 41: one column"),
        (b"a\tb\n" * 40 + b"a\t\xff\n", r"a\.tsv, line 41: invalid UTF-8 \(b"),
        ("a\tb\rc\td\r", "one line, with CR in it"),
    ],
)
def test_a_bad_line_is_named(write, content, says):
    file = CorpusFile(write("a.tsv", content))
    for size in (1, 50, 1 << 20):
        with pytest.raises(InputError, match=says):
            pairs_of([file], size)


@pytest.mark.parametrize("counts", [(30, 28), (28, 30), (0, 3), (3, 0)])
def test_unequal_files_are_refused(write, counts):
    names = [write(f"a.{n}", "x\n" * n) for n in counts]
    for size in (1, 9, 1 << 20):
        with pytest.raises(
            InputError, match=f"has {counts[0]} lines and .* has {counts[1]}"
        ):
            pairs_of([CorpusFile(*names)], size)


def test_a_damaged_archive_is_told(write):
    content = gzip.compress(
        "".join(f"{n}\t{n}\n" for n in range(9999)).encode()
    )
    file = CorpusFile(write("a.tsv.gz", content[: len(content) // 2]))
    with pytest.raises(InputError, match="after line .*: damaged gzip file"):
        pairs_of([file], 1000)


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        pairs_of([CorpusFile(tmp_path / "none.tsv")], 10)


def test_the_size_of_archives_is_estimated(write):
    plain = CorpusFile(write("a.tsv", "a\tb\n"))
    packed = CorpusFile(write("b.en.gz", b"12345"), write("b.zh", b"123"))
    assert corpus_bytes([plain, packed]) == 4 + 20 + 3
