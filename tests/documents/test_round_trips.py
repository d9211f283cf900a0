"""Documents whose texts are translated by themselves: nothing changes."""

import csv
import io
import json
import re
import zipfile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.documents.conftest import read

LETTERS = "ab Z9.,é我 "
TEXT = st.text(
    st.characters(exclude_categories=["Cc", "Cs"], exclude_characters="\ufeff"),
    min_size=1,
)
MARKED = st.text(LETTERS + "*_`[]()<>#&\\!~|-+=\"'{}%", min_size=1)
often = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


def again(tmp_path, name, content, **options):
    """The content of a document, translated by itself."""
    document = read(tmp_path, name, content, **options)
    return b"".join(document.translated(list(document.texts)))


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
@often
@given(rows=st.lists(st.tuples(TEXT, TEXT | st.just("a\nb")), max_size=5))
def test_tables(tmp_path, name, rows):
    delimiter = "," if name == "a.csv" else "\t"
    lines = io.StringIO()
    writer = csv.writer(lines, delimiter=delimiter, lineterminator="\n")
    writer.writerows([("id", "text"), *rows])
    content = lines.getvalue()
    assert again(tmp_path, name, content, field="text").decode() == content


VALUES = st.recursive(
    TEXT | st.integers() | st.none() | st.booleans(),
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=5,
)


@pytest.mark.medium
@often
@given(
    rows=st.lists(st.dictionaries(TEXT, VALUES), max_size=5),
    ascii=st.booleans(),
)
def test_lines_of_json(tmp_path, rows, ascii):
    rows.append({"text": "a"})
    lines = [json.dumps(row, ensure_ascii=ascii) for row in rows]
    found = again(tmp_path, "a.jsonl", "\n".join(lines), field="text")
    assert list(map(json.loads, found.decode().split("\n"))) == rows


CUE = st.lists(st.text("ab cd. ?é我", min_size=1), min_size=1, max_size=2)


@pytest.mark.parametrize("name", ["a.srt", "a.vtt"])
@often
@given(cues=st.lists(CUE, min_size=1, max_size=6))
def test_subtitles(tmp_path, name, cues):
    blocks = ["WEBVTT"] if name == "a.vtt" else []
    for n, lines in enumerate(cues):
        text = "\n".join(line.strip() or "a" for line in lines)
        blocks.append(f"{n}\n00:00:{n:02}.000 --> 00:00:{n:02}.900\n{text}")
    content = "\n\n".join(blocks) + "\n"
    found = again(tmp_path, name, content).decode()
    # Where a line breaks is free, and which cue has a word of a sentence.
    times = re.compile(r"^.*-->.*$|^\d+$", re.MULTILINE)
    assert times.findall(found) == times.findall(content)
    before, after = (
        "".join(times.sub("", text).split()) for text in (content, found)
    )
    assert after == before


BLOCKS = st.one_of(
    MARKED,
    MARKED.map("# {}".format),
    MARKED.map("- {}".format),
    MARKED.map("> {}".format),
    MARKED.map("a\n: {}".format),
    MARKED.map("*[a]: {}".format),
    MARKED.map("> a  \n> {}\\\n> b".format),
    MARKED.map("```\n{}\n```".format),
    MARKED.map("| a | b |\n| --- | --- |\n| x | {} |".format),
    st.just("[a](b.md 'c') ![d](e.png) <http://a.b> **f `g`** ~~h~~\\\ni"),
)


@often
@given(blocks=st.lists(BLOCKS, max_size=5))
def test_markdown(tmp_path, blocks):
    markdown_it = pytest.importorskip("markdown_it")
    parser = markdown_it.MarkdownIt("commonmark")
    parser.enable(["table", "strikethrough"])
    content = "\n\n".join(blocks)
    found = again(tmp_path, "a.md", content).decode()
    # Spelling is free, and white space.
    before, after = (
        " ".join(parser.render(text).split()) for text in (content, found)
    )
    assert after == before


@often
@given(
    blocks=st.lists(
        st.tuples(st.sampled_from(["p", "li", "td", "div", "script"]), MARKED)
    )
)
def test_pages(tmp_path, blocks):
    def escaped(text):
        return re.sub(r"[<>&]", "", text)

    content = "<!DOCTYPE html>\n<title>A</title>" + "\n".join(
        f"<{tag} id='x'>{escaped(text)} <b>c</b>&amp;<br/></{tag}>"
        for tag, text in blocks
    )
    found = again(tmp_path, "a.html", content).decode()
    assert found.split() == content.split()


@often
@given(texts=st.lists(TEXT, min_size=1, max_size=5))
def test_catalogs(tmp_path, texts):
    etree = pytest.importorskip("lxml.etree")
    polib = pytest.importorskip("polib")
    texts = [re.sub(r"[^\x20-\ud7ff\ue000-\ufffd]", "", t) for t in texts]
    file = polib.POFile(wrapwidth=0)
    file.metadata = {"Content-Type": "text/plain; charset=UTF-8"}
    tmx = etree.fromstring("<tmx version='1.4'><body/></tmx>")
    xliff = etree.fromstring(
        "<xliff version='1.2'><file><body/></file></xliff>"
    )
    for n, text in enumerate(texts):
        file.append(polib.POEntry(msgid=f"{n}{text}"))
        unit = etree.SubElement(tmx[0], "tu")
        variant = etree.SubElement(unit, "tuv", lang="en")
        etree.SubElement(variant, "seg").text = f"{n}{text}"
        unit = etree.SubElement(xliff[0][0], "trans-unit", id=str(n))
        etree.SubElement(unit, "source").text = f"{n}{text}"
    messages = [f"{n}{text}" for n, text in enumerate(texts)]
    found = polib.pofile(again(tmp_path, "a.po", str(file)).decode())
    assert [entry.msgid for entry in found] == messages
    assert [entry.msgstr for entry in found] == messages
    content = again(
        tmp_path, "a.tmx", etree.tostring(tmx), languages=("en", "de")
    )
    segments = etree.fromstring(content).iter("seg")
    assert [each.text for each in segments] == [
        each for message in messages for each in (message, message)
    ]
    content = again(tmp_path, "a.xliff", etree.tostring(xliff))
    targets = etree.fromstring(content).iter("target")
    assert [each.text for each in targets] == messages


@pytest.mark.medium
@often
@given(
    paragraphs=st.lists(
        st.lists(st.tuples(st.text(LETTERS), st.booleans()), max_size=4),
        max_size=4,
    )
)
def test_word(tmp_path, paragraphs):
    docx = pytest.importorskip("docx")
    document = docx.Document()
    for runs in paragraphs:
        paragraph = document.add_paragraph()
        for text, is_bold in runs:
            paragraph.add_run(text).bold = is_bold
    content = io.BytesIO()
    document.save(content)
    found = again(tmp_path, "a.docx", content.getvalue())
    before, after = (
        docx.Document(io.BytesIO(each)).paragraphs
        for each in (content.getvalue(), found)
    )
    assert list(map(letters, after)) == list(map(letters, before))
    names = zipfile.ZipFile(io.BytesIO(found)).namelist()
    assert {*names} == {*zipfile.ZipFile(content).namelist()}


def letters(paragraph):
    """Each character of a paragraph, and whether it is bold."""
    return [(c, bool(run.bold)) for run in paragraph.runs for c in run.text]
