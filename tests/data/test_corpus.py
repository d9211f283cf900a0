import gzip
import itertools
import tracemalloc

import pytest

from keras_transformer.cli.console import input_lines
from keras_transformer.data.blocks import read_blocks
from keras_transformer.data.corpus import (
    CorpusFile,
    read_lines,
    read_pairs,
    sentence_pairs,
)
from keras_transformer.errors import InputError

PAIRS = [("Hi.", "你好。"), ("Run!", "跑！")]
TABLE = "Hi.\t你好。\nRun!\t跑！\n"


def test_table_gives_two_columns_and_ignores_others(write):
    path = write("a.tsv", "Hi.\t你好。\tCC-BY\t#1\nRun!\t跑！\n")
    assert list(read_pairs([path])) == PAIRS


FORMS = {
    "plain": TABLE.encode(),
    "no last line end": TABLE.removesuffix("\n").encode(),
    "crlf": TABLE.replace("\n", "\r\n").encode(),
    "byte order mark": b"\xef\xbb\xbf" + TABLE.encode(),
}


@pytest.mark.parametrize("content", FORMS.values(), ids=FORMS)
def test_every_form_of_a_file_gives_the_same_pairs(write, content):
    compressed = gzip.compress(content)
    assert list(read_pairs([write("a.tsv", content)])) == PAIRS
    assert list(read_pairs([write("a.tsv.gz", compressed)])) == PAIRS
    assert list(read_pairs([write("nameless", compressed)])) == PAIRS


def test_two_files_are_read_line_by_line(write):
    source = write("a.en", "Hi.\nRun!\n")
    target = write("a.zh.gz", gzip.compress("你好。\n跑！\n".encode()))
    for spec in (f"{source},{target}", (source, target)):
        assert list(read_pairs([spec])) == PAIRS


def test_several_files_follow_each_other(write):
    table = write("a.tsv", TABLE)
    pair = f"{write('a.en', 'Hi.')},{write('a.zh', '你好。')}"
    assert list(read_pairs([table, pair])) == PAIRS + PAIRS[:1]


def test_file_with_a_comma_in_its_name_is_a_table(write):
    path = write("a,b.tsv", TABLE)
    assert CorpusFile.parse(str(path)).paths == [path]


def test_blank_lines_are_empty_pairs(write):
    pairs = list(read_pairs([write("a.tsv", "\na\tb\n  \n")]))
    assert pairs == [("", ""), ("a", "b"), ("", "")]


def test_only_line_feeds_end_lines(write):
    path = write("a.tsv", "a\u2028b\x0bc\td\x85e\n")
    assert list(read_pairs([path])) == [("a\u2028b\x0bc", "d\x85e")]


def test_a_file_whose_lines_end_with_cr_alone_is_refused(write):
    path = write("a.tsv", TABLE.replace("\n", "\r"))
    with pytest.raises(InputError, match="a.tsv, line 1: CR between two rows"):
        list(read_pairs([path]))
    path = write("a.en", "a\rb\r")
    for read in (read_lines, input_lines):
        with pytest.raises(InputError, match="a.en: one line, with CR in it"):
            list(read(path))
    path = write("b.tsv", "a\tb\r")
    assert list(read_pairs([path])) == [("a", "b")]


# A CR in a line: white space in a text, but never between two rows.
GLUED = {
    "two rows": b"a\tb\rc\td\n",
    "all but the last end": b"a\tb\rc\td\re\tf\n",
    "a third column": b"a\tb\tx\rc\td\n",
    "CR LF after": b"a\tb\rc\td\r\n",
    "CR CR": b"a\tb\r\rc\td\n",
}


@pytest.mark.parametrize("content", GLUED.values(), ids=GLUED)
def test_rows_that_end_with_cr_among_others_are_refused(write, content):
    path = write("a.tsv", b"x\ty\n" + content + b"x\ty\n")
    says = r"a\.tsv, line 2: CR between two rows\. Accepted: .*LF or CR LF"
    for read in (read_pairs, sentence_pairs, pairs_of_blocks):
        with pytest.raises(InputError, match=says):
            list(read([path]))


def pairs_of_blocks(paths):
    for block in read_blocks(map(CorpusFile.parse, paths)):
        yield from block.pairs()


def test_a_cr_in_a_field_is_part_of_it(write):
    path = write("a.tsv", b"a\rb\tc\n\ra\tb\rc\r\r\nx\ty\n")
    pairs = list(read_pairs([path]))
    assert pairs == [("a\rb", "c"), ("\ra", "b\rc\r"), ("x", "y")]
    assert list(pairs_of_blocks([path])) == pairs
    both = write("a.en", b"a\rb\nc\n"), write("a.zh", b"d\ne\r\n")
    assert list(read_pairs([both])) == [("a\rb", "d"), ("c", "e")]


TEXT = "Hi.\tПривет\n\nRun!\tБеги\n"


@pytest.mark.parametrize("form", ["utf-16-le", "utf-16-be", "utf-32-le"])
@pytest.mark.parametrize("text", [TEXT, "Беги\tБеги\n", "\n\na\tb\n"])
def test_utf16_is_refused_by_its_nul_bytes(write, form, text):
    path = write("a.tsv", text.encode(form))
    packed = write("b.tsv.gz", gzip.compress(text.encode(form)))
    says = r", line \d: NUL bytes, as UTF-16 has\. Accepted: text in UTF-8"
    with pytest.raises(InputError, match=says):
        list(read_pairs([path]))
    with pytest.raises(InputError, match=says):
        list(pairs_of_blocks([packed]))
    with pytest.raises(InputError, match=says):
        list(input_lines(path))
    with pytest.raises(InputError, match=says):
        list(read_pairs([(path, path)]))


@pytest.mark.parametrize("spec", ["a,b,c", "a,", ",b"])
def test_spec_names_one_file_or_two(spec):
    with pytest.raises(InputError, match=r"expected FILE.tsv or SOURCE,TARGET"):
        CorpusFile.parse(spec)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"none\.tsv: No such file"):
        list(read_pairs([tmp_path / "none.tsv"]))


def test_unreadable_file_is_named(write, monkeypatch):
    path = write("a.tsv", TABLE)

    def refuse(*arguments):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(InputError, match=r"a\.tsv: Permission denied"):
        list(read_pairs([path]))


def test_folder_is_named(tmp_path):
    with pytest.raises(InputError, match="is a folder. Accepted: a text file"):
        list(read_pairs([tmp_path]))


@pytest.mark.parametrize("damage", ["cut", "changed", "not gzip"])
def test_damaged_gzip_is_named(write, damage):
    content = bytearray(gzip.compress(TABLE.encode() * 1000))
    if damage == "cut":
        content = content[:-20]
    elif damage == "changed":
        content[30] ^= 0xFF
    else:
        content = b"plain\ttext\n"
    path = write("a.tsv.gz", bytes(content))
    with pytest.raises(
        InputError, match=r"a\.tsv\.gz, after line \d+: damaged"
    ):
        list(read_pairs([path]))


def test_line_of_one_column_is_named_with_its_number(write):
    path = write("a.tsv", "a\tb\nlonely\n")
    with pytest.raises(
        InputError, match=r"a\.tsv, line 2: one column. Accepted: source<TAB>"
    ):
        list(read_pairs([path]))


def test_invalid_utf8_is_named_with_line_and_position(write):
    path = write("a.tsv", b"a\tb\nab\xffc\td\n")
    with pytest.raises(
        InputError,
        match=r"a\.tsv, line 2: invalid UTF-8 \(byte 0xff at position 3\)",
    ):
        list(read_pairs([path]))


@pytest.mark.parametrize("lines", [(3, 5), (5, 3), (0, 1)])
def test_files_of_unequal_length_are_named_with_both_counts(write, lines):
    source = write("a.en", "x\n" * lines[0])
    target = write("a.zh", "y\n" * lines[1])
    with pytest.raises(
        InputError,
        match=rf"a\.en has {lines[0]} lines and .*a\.zh has {lines[1]}\.",
    ):
        list(read_pairs([(source, target)]))


def test_memory_does_not_grow_with_the_corpus(write):
    path = write("a.tsv", "a sentence\tanother sentence\n" * 100_000)
    tracemalloc.start()
    try:
        count = sum(1 for _ in itertools.islice(read_pairs([path]), 100_000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 100_000
    # What other threads of the process allocate meanwhile counts, too. Held,
    # the pairs take 19 million bytes.
    assert peak < 3_000_000
