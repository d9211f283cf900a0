"""Corpus files, as a stream of pairs and in blocks."""

import functools
import gzip

import pytest

from keras_transformer.cli.console import input_lines
from keras_transformer.data.corpus import (
    CorpusFile,
    read_blocks,
    read_lines,
    read_pairs,
    sentence_pairs,
)
from keras_transformer.errors import InputError
from tests.processes import peak_memory

PAIRS = [("Hi.", "你好。"), ("Run!", "跑！")]
TABLE = "Hi.\t你好。\nRun!\t跑！\n"


def pairs_of_blocks(paths, size=1 << 20):
    blocks = list(read_blocks(map(CorpusFile.parse, paths), size))
    for block in blocks:
        yield from block.pairs()


READERS = {
    "stream": read_pairs,
    "blocks": pairs_of_blocks,
    "small blocks": functools.partial(pairs_of_blocks, size=7),
}
readers = pytest.mark.parametrize("read", READERS.values(), ids=READERS)

CONTENTS = {
    "plain": (TABLE, PAIRS),
    "no last line end": (TABLE.removesuffix("\n"), PAIRS),
    "CR LF": (TABLE.replace("\n", "\r\n"), PAIRS),
    "byte order mark": ("\ufeff" + TABLE, PAIRS),
    "more columns": ("Hi.\t你好。\tCC-BY\t#1\nRun!\t跑！\n", PAIRS),
    "blank lines": ("\na\tb\n  \n", [("", ""), ("a", "b"), ("", "")]),
    "other line ends": (
        "a\u2028b\x0bc\td\x85e\n",
        [("a\u2028b\x0bc", "d\x85e")],
    ),
    "CR in a field": (
        "a\rb\tc\n\ra\tb\rc\r\r\nx\ty\n",
        [("a\rb", "c"), ("\ra", "b\rc\r"), ("x", "y")],
    ),
    "CR at the end": ("a\tb\r", [("a", "b")]),
    "one line": ("a\tb", [("a", "b")]),
    "empty": ("", []),
    "long": (
        "".join(f"source {n} 源\ttarget {n}\n" for n in range(500)),
        [(f"source {n} 源", f"target {n}") for n in range(500)],
    ),
}


@readers
@pytest.mark.parametrize("name", CONTENTS)
def test_every_form_of_a_file_gives_its_pairs(write, read, name):
    content, pairs = CONTENTS[name]
    packed = gzip.compress(content.encode())
    assert list(read([write("a.tsv", content)])) == pairs
    assert list(read([write("a.tsv.gz", packed)])) == pairs
    assert list(read([write("nameless", packed)])) == pairs


@readers
def test_two_files_are_read_line_by_line(write, read):
    sources = [f"source\r{n}" for n in range(300)]
    targets = [f"{'目' * (n % 9)}{n}" for n in range(300)]
    source = write("a.en", "".join(f"{line}\n" for line in sources))
    text = "\ufeff" + "".join(f"{line}\r\n" for line in targets)
    target = write("a.zh.gz", gzip.compress(text.encode()))
    table = write("a.tsv", TABLE)
    pairs = list(zip(sources, targets, strict=True))
    for spec in (f"{source},{target}", (source, target)):
        assert list(read([table, spec])) == PAIRS + pairs


def test_file_with_a_comma_in_its_name_is_a_table(write):
    path = write("a,b.tsv", TABLE)
    assert CorpusFile.parse(str(path)).paths == [path]


GLUED = r"\.tsv, line 41: CR between two rows\. Accepted: .*LF or CR LF"
NUL = r"\.\w+, line \d+: NUL bytes, as UTF-16 has\. Accepted: text in UTF-8"
DAMAGED = r"\.gz(, after line [1-9]\d*)?: damaged gzip file"
PACKED = gzip.compress("".join(f"{n}\t{n}\n" for n in range(9999)).encode())
CYRILLIC = ("Hi.\tПривет\n\nRun!\tБеги\n", "Беги\tБеги\n", "\n\na\tb\n")
REFUSED = {
    "one column": (
        b"lonely\n",
        r"\.tsv, line 41: one column. Accepted: source<TAB>",
    ),
    "not UTF-8": (
        b"ab\xffc\td\n",
        r"\.tsv, line 41: invalid UTF-8 \(byte 0xff at position 3\)",
    ),
    # A CR in a line: white space in a text, but never between two rows.
    "two rows": (b"a\tb\rc\td\n", GLUED),
    "all but the last end": (b"a\tb\rc\td\re\tf\n", GLUED),
    "a third column": (b"a\tb\tx\rc\td\n", GLUED),
    "CR LF after": (b"a\tb\rc\td\r\n", GLUED),
    "CR CR": (b"a\tb\r\rc\td\n", GLUED),
}
# Not after good lines.
WHOLE = {
    "CR alone": (
        "a.tsv",
        TABLE.replace("\n", "\r").encode(),
        r"\.tsv.*CR (in|between)",
    ),
    "cut": ("a.gz", PACKED[: len(PACKED) // 2], DAMAGED),
    "changed": ("a.gz", PACKED[:30] + b"\xff" + PACKED[31:], DAMAGED),
    "not gzip": ("a.gz", b"plain\ttext\n", DAMAGED),
    **{
        f"{form} {number}": ("a.tsv", text.encode(form), NUL)
        for form in ("utf-16-le", "utf-16-be", "utf-32-le")
        for number, text in enumerate(CYRILLIC)
    },
}


@readers
@pytest.mark.parametrize("name", [*REFUSED, *WHOLE])
def test_a_bad_file_is_named_with_the_line(write, read, name):
    if name in WHOLE:
        file, content, says = WHOLE[name]
    else:
        content, says = REFUSED[name]
        file, content = "a.tsv", b"a\tb\n" * 40 + content + b"x\ty\n"
    path = write(file, content)
    with pytest.raises(InputError, match=f"/a{says}"):
        list(read([path]))


def test_a_bad_file_of_sentences_is_named_too(write):
    path = write("a.tsv", b"x\ty\n" + REFUSED["two rows"][0])
    with pytest.raises(InputError, match="line 2: CR between two rows"):
        sentence_pairs([path])
    path = write("a.en", "a\rb\r")
    for read in (read_lines, input_lines):
        with pytest.raises(InputError, match="a.en: one line, with CR in it"):
            list(read(path))
    with pytest.raises(InputError, match="a.en: one line, with CR in it"):
        list(read_pairs([(write("a.zh", "c"), path)]))
    path = write("b.en", CYRILLIC[0].encode("utf-16-le"))
    for read in (input_lines, lambda path: read_pairs([(path, path)])):
        with pytest.raises(InputError, match=NUL):
            list(read(path))


@readers
@pytest.mark.parametrize("counts", [(30, 28), (28, 30), (0, 3), (3, 0)])
def test_files_of_unequal_length_are_named_with_both_counts(
    write, read, counts
):
    names = write("a.en", "x\n" * counts[0]), write("a.zh", "y\n" * counts[1])
    says = rf"a\.en has {counts[0]} lines and .*a\.zh has {counts[1]}\."
    with pytest.raises(InputError, match=says):
        list(read([names]))


@readers
def test_what_cannot_be_read_is_named(tmp_path, read):
    with pytest.raises(InputError, match=r"none\.tsv: No such file"):
        list(read([tmp_path / "none.tsv"]))
    with pytest.raises(InputError, match="is a folder. Accepted: a text file"):
        list(read([tmp_path]))


@pytest.mark.parametrize("spec", ["a,b,c", "a,", ",b"])
def test_spec_names_one_file_or_two(spec):
    with pytest.raises(InputError, match=r"expected FILE.tsv or SOURCE,TARGET"):
        CorpusFile.parse(spec)


def test_memory_does_not_grow_with_the_corpus(write):
    path = write("a.tsv", "a sentence\tanother sentence\n" * 40_000)
    count, peak = peak_memory(lambda: sum(1 for _ in read_pairs([path])))
    assert count == 40_000
    # What other threads of the process allocate meanwhile counts, too. Held,
    # the pairs take 8 million bytes.
    assert peak < 3_000_000
