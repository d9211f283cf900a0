"""`translate` of documents, and `translate_file`."""

import json
import time

import pytest

import keras_transformer as kt
from keras_transformer.errors import InputError
from tests.cli.conftest import start

SRT = """1
00:00:01,000 --> 00:00:02,000
<i>one two</i>

2
00:00:05,000 --> 00:00:06,000
three
"""


def test_a_document_keeps_all_but_its_text(run, write, tmp_path, succeed):
    source, target = write("a.srt", SRT), tmp_path / "b.srt"
    succeed("translate", "--run", run, "--input", source, "--output", target)
    expected = kt.load(run).translate(["one two", "three"])
    content = target.read_text()
    first, second = (" ".join(text.split()) for text in expected)
    assert f"<i>{first}</i>" in content.replace("\n", " ").replace("  ", " ")
    assert "00:00:05,000 --> 00:00:06,000" in content
    assert second in content.replace("\n", " ")
    # The same in Python.
    again = tmp_path / "c.srt"
    assert kt.translate_file(run, source, again) == {}
    assert again.read_text() == content


def test_every_mark_comes_back(run, write, tmp_path, succeed):
    page = "<p>one <b>two</b> %s three</p>\n<p><br></p>\n"
    source, target = write("a.html", page), tmp_path / "b.html"
    succeed("translate", "--run", run, "--input", source, "--output", target)
    content = target.read_text()
    for mark in ("<p>", "<b>", "</b>", "%s", "</p>\n<p><br></p>\n"):
        assert content.count(mark) == page.count(mark)
    assert content.index("<b>") < content.index("</b>")


@pytest.mark.medium
def test_markup_of_lines_is_placed_where_it_is_requested(run, write, succeed):
    line = "one <b>two</b> three"
    plain = succeed("translate", "--run", run, "one two three").out
    said = succeed("translate", "--run", run, "--markup", "project", line).out
    assert said.count("<b>") == said.count("</b>") == 1
    unmarked = said.replace("<b>", "").replace("</b>", "")
    assert unmarked.split() == plain.split()


def test_a_table_is_translated_by_an_export(export, write, tmp_path, succeed):
    source = write("a.csv", "id,en\n1,one two\n2,three\n")
    target = tmp_path / "b.csv"
    options = ["--saved-model", export, "--field", "en:xx"]
    options += ["--input", source, "--output", target]
    succeed("translate", *options)
    first, second = kt.load(export).translate(["one two", "three"])
    lines = target.read_text().splitlines()
    assert lines[0] == "id,en,xx"
    assert lines[1] == f"1,one two,{first}"
    assert lines[2] == f"2,three,{second}"


@pytest.mark.medium
def test_any_file_can_be_taken_by_lines(run, write, tmp_path, succeed):
    words = ["--input", write("a.json", "one\n"), "--format", "lines"]
    target = tmp_path / "b.json"
    succeed("translate", "--run", run, *words, "--output", target)
    assert target.read_text() == kt.load(run).translate("one") + "\n"


@pytest.mark.parametrize(
    ("name", "content", "options", "says"),
    [
        ("a.srt", "no code", [], ["no time code"]),
        ("a.srt", SRT, ["--n-best", "2"], ["its translation alone"]),
        ("a.srt", SRT, ["--field", "a"], ["--field goes with csv"]),
        ("a.txt", "one", ["--field", "a"], ["--field goes with a document"]),
        ("a.srt", SRT, ["--output", "b.srt.gz"], ["b.srt.gz: a document"]),
        ("a.JSON", '{"a": "one"}', [], ["a.JSON: not a known", "lines, csv"]),
        ("a.xhtml", "<b>a</b>", ["--field", "a"], ["Received: html"]),
        ("a.ssa", "[Script Info]\n", [], ["a.ssa: not a known"]),
        ("a.arb.xz", '{"a": "one"}', [], ["a.arb.xz: not a known"]),
        ("a.srt.gz", SRT, [], ["a.srt.gz: not a known", "unpacked"]),
        ("a.csv", "a\n1\n", [], ["--field NAME of a"]),
    ],
)
def test_what_does_not_go_with_a_document_is_refused(
    run, write, tmp_path, refuses, name, content, options, says
):
    words = ["--input", write(name, content), "--output", tmp_path / "out"]
    refuses("translate", "--run", run, *words, *options, says=says)
    assert not (tmp_path / "out").exists()


def test_documents_are_not_cut_into_shards(run, write, tmp_path, refuses):
    words = ["translate-shards", "--run", run, "--shards=2"]
    words += ["--output", tmp_path / "out"]
    for name, says in (
        ("a.csv", "a.csv: a document, which isn't cut into shards"),
        ("a.json", "a.json: not a known format"),
    ):
        refuses(*words, "--input", write(name, "a\n1\n"), says=[says])


def test_markup_needs_a_run(export, write, tmp_path, refuses):
    source = write("a.html", "<p>one <b>two</b></p>")
    words = ["--input", source, "--output", tmp_path / "b.html"]
    says = ["'<b>' in a text", "a model with symbols"]
    refuses("translate", "--saved-model", export, *words, says=says)
    with pytest.raises(InputError, match="'<b>' in a text"):
        kt.translate_file(export, source, tmp_path / "b.html")


def test_a_file_of_python_is_new_and_of_a_format(run, write, tmp_path):
    with pytest.raises(InputError, match="not a known format"):
        kt.translate_file(run, write("a.txt", "one"), tmp_path / "b.txt")
    source = write("a.srt", SRT)
    with pytest.raises(InputError, match="exists"):
        kt.translate_file(run, source, source)
    with pytest.raises(InputError, match="there is no such folder"):
        kt.translate_file(run, source, tmp_path / "none" / "b.html")


@pytest.mark.medium
def test_a_killed_translation_is_gone_on_with(
    run, write, tmp_path, succeed, refuses
):
    words = ["one", "two", "three", "four", "five"]
    rows = [{"id": n, "en": " ".join(words[: n % 5 + 1])} for n in range(2_000)]
    source = write("a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    target, partial = tmp_path / "b.jsonl", tmp_path / "b.jsonl.partial"

    def command(output, *options):
        files = ["--input", source, "--output", output, "--field", "en:xx"]
        search = ["--batch-size=1", "--beam-size=1", "--workers=1"]
        return ["translate", "--run", run, *files, *search, *options]

    whole = tmp_path / "whole.jsonl"
    succeed(*command(whole))
    assert not list(tmp_path.glob("*.partial"))
    process = start(*command(target))
    while not (partial.exists() and partial.stat().st_size):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert not target.exists()
    lines = partial.read_bytes().splitlines(keepends=True)
    assert 2 < len(lines) < 2_000
    # What is there isn't translated again.
    lines[1] = b'["kept", false]\n'
    partial.write_bytes(b"".join(lines))
    says = ["b.jsonl.partial: of another input, model or options"]
    other = command(target, "--resume", "--set=decoding.min_length=2")
    refuses(*other, says=says)
    succeed(*command(target, "--resume"))
    assert not partial.exists()
    first, *others = target.read_text().splitlines()
    assert json.loads(first)["xx"] == "kept"
    assert others == whole.read_text().splitlines()[1:]
