"""Columns of .csv and .tsv, keys of .jsonl."""

import json
import os
import threading

import pytest

from keras_transformer.documents.formats import open_document
from keras_transformer.errors import InputError
from tests.documents.conftest import read, rewritten
from tests.processes import peak_memory


@pytest.mark.parametrize(
    ("name", "content", "field", "expected"),
    [
        (
            "a.csv",
            'id,text\r\n1,"a, b"\r\n2,\r\n3,"two\r\nlines"\r\n',
            "text",
            'id,text\r\n1,"<a, b>"\r\n2,\r\n3,"<two\r\nlines>"\r\n',
        ),
        (
            "a.csv",
            "\ufeffid,en\n1,a\n\n2\n3,b\n",
            "en:de",
            "\ufeffid,en,de\n1,a,<a>\n\n2,,\n3,b,<b>\n",
        ),
        ("a.tsv", "en\tde\na\told\n", "en:de", "en\tde\na\t<a>\n"),
        (
            "a.tsv",
            'en\tn\n"Hello" he\t1\n"Half\t2\nend"\t3\n',
            "en",
            'en\tn\n<"Hello" he>\t1\n<"Half>\t2\n<end">\t3\n',
        ),
        (
            "a.tsv",
            'en\tn\n"two\nlines"\t1\n',
            "en",
            'en\tn\n"<two\nlines>"\t1\n',
        ),
        (
            "a.tsv",
            'en\tn\n"The ""Save"" button"\t1\n5" disk\t2\n',
            "en:de",
            'en\tn\tde\n"The ""Save"" button"\t1\t"<The ""Save"" button>"\n'
            '"5"" disk"\t2\t"<5"" disk>"\n',
        ),
        ("a.csv", "x:y\na\n", "x:y", "x:y\n<a>\n"),
        ("a.csv", "id;en\n1;a, b\n", "en", "id;en\n1;<a, b>\n"),
        (
            "a.csv",
            "\ufeffsep=;\r\nid;en\r\n1;a, b\r\n",
            "en",
            "\ufeffsep=;\r\nid;en\r\n1;<a, b>\r\n",
        ),
        ("a.csv", '"sep=|"\ra,b|en\r1|a\r', "en", '"sep=|"\ra,b|en\r1|<a>\r'),
        ("a.csv", "sep=,\na;b\nc\n", "a;b", "sep=,\na;b\n<c>\n"),
        ("a.csv", 'id\ten\n1\t"a"" b"\n', "en", 'id\ten\n1\t"<a"" b>"\n'),
        ("a.csv", "id\ten\n1\ta, b\n", "en", "id\ten\n1\t<a, b>\n"),
        ("a.tsv", "id\ten\r\n1\ta\r\n", "en", "id\ten\r\n1\t<a>\r\n"),
        ("a.tsv", "en\r\n", "en", "en\r\n"),
        ("a.tsv", "en\tn\ra\t1\r", "en", "en\tn\r<a>\t1\r"),
        ("a.csv", "n,en\n1,a,,\n", "en:de", "n,en,de\n1,a,<a>,\n"),
        (
            "a.jsonl",
            '{"k": "é", "n": 1}\n\n{"n": 2}\n{"k": "b"}',
            "k",
            '{"k": "<é>", "n": 1}\n\n{"n": 2}\n{"k": "<b>"}',
        ),
        ("a.ndjson", '{"k": "a"}\n', "k:t", '{"k": "a", "t": "<a>"}\n'),
        (
            "a.jsonl",
            '{"k": "a", "other": "\\ud83d"}\n',
            "k",
            '{"k": "<a>", "other": "\\ud83d"}\n',
        ),
        (
            "a.jsonl",
            '{"k": "a\u2028b\x85c"}\r\n\r\n{"k": "d"}\r\n',
            "k",
            '{"k": "<a\u2028b\x85c>"}\r\n\r\n{"k": "<d>"}\r\n',
        ),
        ("a.jsonl", '{"k": "\\ud83d"}\n', "k", '{"k": "<\\ud83d>"}\n'),
        (
            "a.jsonl",
            '\ufeff{"a":{"k":"b"},"\\u006b" : "\\/", "n":1e400,"n":1.10 }\r\n',
            "k",
            '\ufeff{"a":{"k":"b"},"\\u006b" : "</>", "n":1e400,"n":1.10 }\r\n',
        ),
        (
            "a.jsonl",
            '{"k": "a", "k": "b", "t": null}\n{"k": "c", "x": NaN }',
            "k:t",
            '{"k": "a", "k": "b", "t": "<b>"}\n'
            '{"k": "c", "x": NaN, "t": "<c>" }',
        ),
    ],
)
def test_a_column_is_translated(tmp_path, name, content, field, expected):
    document = read(tmp_path, name, content, field=field)
    texts = [f"<{text}>" for text in document.texts]
    assert rewritten(document, texts) == expected


def test_a_large_file_is_never_held(tmp_path):
    line = json.dumps({"k": "word " * 100, "n": 1}) + "\n"
    document = read(tmp_path, "a.jsonl", line * 20_000, field="k")
    lines = document.translated(document.texts)
    size, peak = peak_memory(lambda: sum(map(len, lines)))
    assert size == 20_000 * len(line)
    assert peak < size / 5


def test_lines_that_come_meanwhile_are_left_out(tmp_path):
    line = '{"k": "a"}\n'
    document = read(tmp_path, "a.jsonl", f"\n{line}", field="k")
    with (tmp_path / "a.jsonl").open("a") as file:
        file.write(line)
    assert list(document.texts) == ["a"]
    assert rewritten(document, ["a"]) == f"\n{line}"


def test_a_pipe_is_read_once(tmp_path):
    path = tmp_path / "a.jsonl"
    os.mkfifo(path)
    line = '{"k": "a"}\n'
    writer = threading.Thread(target=path.write_text, args=(line,))
    writer.start()
    document = open_document(path, "jsonl", field="k")
    writer.join()
    assert rewritten(document, document.texts) == line


def test_lines_without_the_key_are_counted(tmp_path):
    lines = [{"k": "a"}, {"k": 3}, {}]
    content = "\n".join(map(json.dumps, lines))
    document = read(tmp_path, "a.jsonl", content, field="k")
    assert document.skipped == {"without k": 2}


@pytest.mark.parametrize(
    ("name", "content", "field", "says"),
    [
        ("a.csv", "id,text\n", None, "--field NAME of id, text"),
        ("a.csv", "id,text\n", "txt", "no column 'txt'. Accepted: id, text"),
        ("a.csv", "", "text", "a file with a header"),
        ("a.csv", "n,en\n\n1,a, b\n", "en", "row 3 has 3 cells, the header 2"),
        (
            "a.jsonl",
            '{"k": ["a"], "b": "c"}\n{"d": "e", "n": 1}\n',
            "k",
            "no line has a string for 'k'. Accepted: b, d$",
        ),
        ("a.jsonl", '{"k": 1}\n', "k", "Accepted: a file with strings"),
        ("a.jsonl", '{"k": 1, "b": "c"}\n', None, "NAME of b; "),
        ("a.jsonl", '{"k": "a"}\n{\n', "k", "line 2: no JSON"),
        (
            "a.jsonl",
            "[1]\n",
            "k",
            r"line 1: no JSON object. Accepted: .* line. Received: \[1\]",
        ),
        ("a.jsonl", "[" * 100000, "k", "line 1: no JSON"),
        ("a.srt", "", "k", "--field goes with csv, jsonl, tsv"),
    ],
)
def test_what_is_wrong_is_refused(tmp_path, name, content, field, says):
    with pytest.raises(InputError, match=says):
        read(tmp_path, name, content, field=field)
