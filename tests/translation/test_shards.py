"""Where a text is cut, and that nothing of it is lost."""

import gzip
import hashlib
import itertools

import pytest

from keras_transformer.data.lines import LINE_BYTES
from keras_transformer.errors import InputError
from keras_transformer.translation.shard_manifest import (
    BulkJob,
    read_manifest,
    shards_of,
    write_manifest,
)
from keras_transformer.translation.shards import scan_text, shard_lines
from keras_transformer.translation.stream import stream_lines

TEXTS = {
    "lines": b"".join(b"line %d\n" % i for i in range(23)),
    "no last newline": b"a\nbb\nccc\ndddd",
    "CR LF": b"a\r\n\r\nb\r\nc\r\nd\r\n",
    "CR alone": b"a\rb\nc\rd\ne\n",
    "empty": b"",
    "one": b"one",
    "blank": b"\n" * 9,
    "other alphabets": "é中文\n𝔘\n".encode() * 8,
    "a long line": b"x" * 3_000_000 + b"\ny\nz\n",
}


@pytest.fixture(params=["plain", "gzip"])
def write(request, tmp_path):
    """Writes a text; its path."""

    def write(content, name="in"):
        path = tmp_path / f"{name}.txt"
        if request.param == "gzip":
            path = path.with_suffix(".gz")
            content = gzip.compress(content)
        path.write_bytes(content)
        return path

    return write


def cut(path, count, window, prefixes=None):
    """The shards of a text."""
    prefixes = prefixes and str(prefixes)
    job = BulkJob(str(path), prefixes, "", count, 1, window, "model", {})
    manifest = path.with_name("manifest.json")
    write_manifest(manifest, job)
    return shards_of(read_manifest(manifest))


def lines_of(path, shards):
    return [list(shard_lines([str(path)], shard)) for shard in shards]


@pytest.mark.parametrize("count", [1, 3, 8])
@pytest.mark.parametrize("window", [1, 100])
@pytest.mark.parametrize("content", TEXTS.values(), ids=TEXTS)
def test_shards_are_the_text_in_order(write, content, window, count):
    path = write(content)
    scan = scan_text(path, window)
    expected = content.decode().splitlines(keepends=True)
    if b"\r" in content:  # Which ends no line by itself.
        expected = [f"{line}\n" for line in content.decode().split("\n")[:-1]]
    assert scan.lines == len(expected)
    if max(map(len, expected), default=0) <= LINE_BYTES:
        assert scan.sha256 == hashlib.sha256(content).hexdigest()
    shards = cut(path, count, window)
    assert [shard.number for shard in shards] == list(range(count))
    assert [shard.spans[0][0] for shard in shards[1:]] == [
        shard.spans[0][1] for shard in shards[:-1]
    ]
    read = lines_of(path, shards)
    # Of a line without end, what a model could read and more.
    expected = [
        line if len(line) <= LINE_BYTES else f"{line[:LINE_BYTES]}\n"
        for line in expected
    ]
    assert list(itertools.chain(*read)) == expected
    assert [len(lines) for lines in read] == [shard.lines for shard in shards]
    for shard, before in zip(
        shards, itertools.accumulate(map(len, read), initial=0), strict=False
    ):
        assert shard.line == before


def test_shards_begin_where_windows_do(write):
    """So that every batch is one of the whole text's."""
    lines = [f"{'x' * (i * 7 % 11)}{i}\n" for i in range(100)]
    path = write("".join(lines).encode())

    def batches(lines):
        seen = []

        def translate_batches(batches):
            for batch in batches:
                seen.append(batch)
                yield batch

        list(stream_lines(lines, translate_batches, batch_size=4, window=12))
        return seen

    shards = cut(path, 5, 12)
    assert min(shard.lines for shard in shards) > 0
    parts = [batches(part) for part in lines_of(path, shards)]
    assert list(itertools.chain(*parts)) == batches(lines)


def test_a_text_whose_lines_end_with_cr_alone_is_refused(write):
    for end in (b"", b"\n"):
        path = write(b"a\rb\rc\r" + b"d" + end)
        with pytest.raises(InputError, match="one line, with CR in it"):
            lines_of(path, cut(path, 1, 2))
    path = write(b"a\rb\nc\r\n")
    assert lines_of(path, cut(path, 1, 2)) == [["a\rb\n", "c\r\n"]]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"a\n\xff\nb\n\xff\n", 2),
        (b"a\nb\n\xe4\xb8", 3),
        (b"a\n\xe4\xb8\nb", 2),
        (b"\xc3\x28", 1),
        (b"ok\n" * 500_000 + b"\x80\n", 500_001),
    ],
    ids=["two", "cut off", "cut off by a line end", "pair", "late"],
)
def test_a_line_that_is_not_utf8_is_refused(write, content, line):
    with pytest.raises(InputError, match=f"line {line}: invalid UTF-8"):
        scan_text(write(content), 2)


def test_prefixes_go_with_their_lines(write, tmp_path):
    path = write(b"a\r\nb\nc\nd\ne\n")
    prefixes = tmp_path / "prefixes.txt"
    prefixes.write_bytes(b"AAAA\n\nC\nDD\nE")
    shards = cut(path, 2, 2, prefixes)
    paths = [str(path), str(prefixes)]
    read = [list(shard_lines(paths, shard)) for shard in shards]
    assert read == [
        [("a", "AAAA"), ("b", "")],
        [("c", "C"), ("d", "DD"), ("e", "E")],
    ]


@pytest.mark.parametrize("now", [b"a\nb\nlonger\nd\n", b"a\n", b""])
def test_a_text_that_has_changed_is_noticed(write, now):
    path = write(b"a\nb\nc\nd\n")
    shards = cut(path, 2, 1)
    path = write(now)
    with pytest.raises(InputError, match="changed since it was cut"):
        lines_of(path, shards)


def test_damaged_gzip_is_named(tmp_path):
    path = tmp_path / "in.gz"
    whole = gzip.compress(TEXTS["lines"])
    path.write_bytes(whole[:-12])
    with pytest.raises(InputError, match=r"in.gz, line .*: damaged gzip"):
        scan_text(path, 2)
    path.write_bytes(whole)
    shards = cut(path, 2, 2)
    path.write_bytes(whole[:40])
    with pytest.raises(InputError, match="in.gz, line .*: damaged gzip file"):
        lines_of(path, shards)
    path.write_bytes(b"no gzip")
    with pytest.raises(InputError, match=r"in.gz, line .*: damaged gzip"):
        scan_text(path, 2)
