"""Word: paragraphs, tables, headers, with the formatting of their runs."""

import copy
import io
import re
import struct
import time
import zipfile

import pytest

from keras_transformer.documents import word
from keras_transformer.documents.word import WordDocument
from keras_transformer.errors import InputError
from tests.documents.conftest import read

docx = pytest.importorskip(
    "docx", reason="python-docx isn't installed: [files]"
)


@pytest.fixture
def path(tmp_path):
    document = docx.Document()
    document.add_heading("A title", 1)
    paragraph = document.add_paragraph("Open ")
    # Word splits runs wherever it likes.
    paragraph.add_run("the ")
    paragraph.add_run("big").bold = True
    paragraph.add_run(" file").bold = True
    paragraph.add_run(" now.")
    paragraph.add_run().add_break()
    document.add_paragraph("12")
    cell = document.add_table(1, 1).cell(0, 0)
    cell.text = "In a cell"
    document.sections[0].header.paragraphs[0].text = "At the top"
    document.save(tmp_path / "a.docx")
    return tmp_path / "a.docx"


def test_paragraphs_are_texts(path):
    assert WordDocument(path).texts == [
        "A title",
        "Open the <x2>big file</x2> now.",
        "In a cell",
        "At the top",
    ]


def test_formatting_follows_the_tags(path):
    texts = ["Titel", "Jetzt <x2>große Datei</x2> öffnen.", "Z", "Oben"]
    content = b"".join(WordDocument(path).translated(texts))
    document = docx.Document(io.BytesIO(content))
    title, paragraph, number = document.paragraphs
    assert (title.text, title.style.name) == ("Titel", "Heading 1")
    assert [(run.text, run.bold) for run in paragraph.runs] == [
        ("Jetzt ", None),
        ("große Datei", True),
        (" öffnen.", None),
        ("\n", None),
    ]
    assert number.text == "12"
    assert document.tables[0].cell(0, 0).text == "Z"
    assert document.sections[0].header.paragraphs[0].text == "Oben"


def test_tabs_breaks_and_tracked_insertions_are_no_loss(tmp_path):
    document = docx.Document()
    paragraph = document.add_paragraph("Write <x2/> or <x1>\tthis\nhere ")
    run = paragraph.add_run("added")
    insertion = run._r.makeelement(run._r.tag[: -len("r")] + "ins")
    run._r.addprevious(insertion)
    insertion.append(run._r)
    section = document.sections[0]
    section.different_first_page_header_footer = True
    section.first_page_header.paragraphs[0].text = "First"
    document.save(tmp_path / "a.docx")
    opened = WordDocument(tmp_path / "a.docx")
    assert opened.texts == [
        "Write <x2/> or <x1>",
        "this",
        "here <x2>added</x2>",
        "First",
    ]
    texts = ["<x2/> <x1>", "A", "<x2>NEU</x2> B</x2><x9>", "Erste"]
    content = b"".join(opened.translated(texts))
    written = docx.Document(io.BytesIO(content))
    assert written.paragraphs[0].text == "<x2/> <x1>\tA\n B"
    assert "NEU" in written.paragraphs[0]._p.xml
    assert written.sections[0].first_page_header.paragraphs[0].text == "Erste"


def test_a_header_of_two_sections_is_translated_once(path):
    document = docx.Document(path)
    reference = document.sections[0]._sectPr.get_headerReference(
        docx.enum.section.WD_HEADER_FOOTER.PRIMARY
    )
    section = document.add_section()
    section._sectPr.insert(0, copy.deepcopy(reference))
    document.save(path)
    opened = WordDocument(path)
    assert opened.texts.count("At the top") == 1
    assert list(opened.translated(opened.texts))


def run(text):
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def raised(text):
    properties = '<w:rPr><w:vertAlign w:val="superscript"/></w:rPr>'
    return run(text).replace("<w:t", f"{properties}<w:t", 1)


FORM = f"<w:sdt><w:sdtPr/><w:sdtContent>{run('Ann')}</w:sdtContent></w:sdt>"
LINK = f"<w:hyperlink>{run('a')}<w:r><w:br/></w:r>{run('b')}</w:hyperlink>"
FIELD = f'<w:fldSimple w:instr="REF">{run("Table")}</w:fldSimple>'
SPELLED = run("gram starts").replace(
    "<w:t", '<w:rPr><w:lang w:val="en-US"/></w:rPr><w:t', 1
)
HINTED = run("年").replace(
    "<w:t", '<w:rPr><w:rFonts w:hint="eastAsia"/></w:rPr><w:t', 1
)
RIGHT_TO_LEFT = run("اضغط ").replace(
    "<w:t", "<w:rPr><w:rtl/><w:cs/></w:rPr><w:t", 1
)
RUBY = f"<w:r><w:ruby><w:rubyBase>{run('字')}</w:rubyBase></w:ruby></w:r>"
BOX = f"<w:r><w:pict><w:p>{run('Box')}</w:p></w:pict></w:r>"


def document_of(tmp_path, content):
    document = docx.Document()
    paragraph = document.add_paragraph()._p
    names = f'xmlns:w="{paragraph.nsmap["w"]}"'
    parsed = docx.oxml.parse_xml(f"<w:p {names}>{content}</w:p>")
    paragraph.getparent().replace(paragraph, parsed)
    document.save(tmp_path / "a.docx")
    return WordDocument(tmp_path / "a.docx")


def bookmark(kind, number=1, name="bookmark"):
    return f'<w:{name}{kind} w:id="{number}"/>'


def field(kind):
    return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'


NOTED = (
    bookmark("Start")
    + run("A red ")
    + bookmark("Start", name="commentRange")
    + run("car")
    + bookmark("End", name="commentRange")
    + bookmark("End")
    + run(" now")
)
CROSSING = (
    bookmark("Start")
    + run("A ")
    + bookmark("Start", 2)
    + run("red")
    + bookmark("End")
    + run(" car")
    + bookmark("End", 2)
)
INSTRUCTION = "<w:r><w:instrText>REF</w:instrText></w:r>"
BEGUN = field("begin") + INSTRUCTION + field("separate")
PAGE = BEGUN + run("3") + field("end")
TAB = "<w:r><w:tab/></w:r>"
ENDED = field("end") + run(" now")
LINKED = run("A ") + BEGUN + run("red car") + ENDED
# Within an instruction, and one without a result.
NESTED = (
    f"{run('A ')}{field('begin')}{BEGUN}{run('1')}{field('end')}"
    f"{field('separate')}{run('red')}{field('end')}"
    f"{field('begin')}{INSTRUCTION}{field('end')}"
)


@pytest.mark.parametrize(
    ("content", "texts", "left"),
    [
        (
            f"{run('2')}{raised('31')}{run(', 1')}{raised('st')}{run(' H')}"
            f"{raised('2')}{run('O')}{raised(' ')}{run('is')}",
            ["2<x2/>, 1<x4>st</x4> H<x6>2</x6>O<x8> </x8>is"],
            0,
        ),
        (run("Dear ") + FORM + run("!"), ["Dear <x2>Ann</x2>!"], 0),
        (FORM, ["Ann"], 0),
        (
            f"{run('Kept. ')}<w:moveFrom>{run('Old.')}</w:moveFrom>"
            f"<w:moveTo>{run('New.')}</w:moveTo>",
            ["Kept. <x2/><x3>New.</x3>"],
            0,
        ),
        (
            "".join(
                f"<w:{name}>{run(name)}</w:{name}>"
                for name in ("dir", "bdo", "customXml")
            ),
            ["<x1>dir</x1><x3>bdo</x3><x5>customXml</x5>"],
            0,
        ),
        (
            "<w:r><w:t>One</w:t><w:noBreakHyphen/><w:t>time ste</w:t>"
            "<w:softHyphen/><w:t>am</w:t></w:r>",
            ["One-time steam"],
            0,
        ),
        # Most of a link's text is plain within it.
        (
            f"{run('Read ')}<w:hyperlink>{run('the whole report')}"
            f"</w:hyperlink>{run(' today.')}",
            ["Read <x2>the whole report</x2> today."],
            0,
        ),
        (
            f"{run('Read ')}<w:ins>{run('the ')}{raised('whole')}"
            f"{run(' report')}</w:ins>{run(' today.')}",
            ["Read <x2>the <x4>whole</x4> report</x2> today."],
            0,
        ),
        # Breaks and tabs end a text, also within a link.
        (f"<w:ins>{LINK}</w:ins>", ["a", "b"], 0),
        (run("See ") + LINK + run("!c"), ["See ", "a", "b", "!c"], 0),
        (f"{run('1')}{TAB}{run('One')}{TAB}{PAGE}", ["One"], 0),
        (
            run("See ") + BOX.replace("<w:p>", f"<w:p>{TAB}"),
            ["See <x2/>", "Box"],
            0,
        ),
        # A field without letters is one mark.
        (f"{run('Page ')}{PAGE}{run(' of it')}", ["Page <x2/> of it"], 0),
        (
            f"{run('On ')}<w:hyperlink>{run('[3]')}</w:hyperlink>",
            ["On <x2/>"],
            0,
        ),
        # What ends is the link, not the entry of an index within it.
        (
            LINKED.replace(
                run("red car"),
                f"{run('red car')}{field('begin')}{field('end')}",
            ),
            ["A <x2>red car<x4/></x2> now"],
            0,
        ),
        # A field in two insertions.
        (
            f"{run('A ')}<w:ins>{field('begin')}{INSTRUCTION}</w:ins>"
            f"<w:ins>{field('separate')}{run('red')}{field('end')}</w:ins>",
            ["A <x2/>"],
            1,
        ),
        (
            f"{run('A ')}<w:smartTag><w:smartTagPr/>{run('red')}</w:smartTag>"
            "<w:r><w:rPr/></w:r>",
            ["A <x2>red</x2>"],
            0,
        ),
        # The language that a run is spelled in is no formatting.
        (run("The pro") + SPELLED + run(" now"), ["The program starts now"], 0),
        (run("2024") + HINTED, ["2024年"], 0),
        (RIGHT_TO_LEFT + run("OK"), ["اضغط OK"], 0),
        (run("See ") + FIELD, ["See <x2>Table</x2>"], 0),
        (run("A ") + RUBY, ["A <x2/>"], 1),
        (run("A ") + BOX, ["A <x2/>", "Box"], 0),
        (NOTED, ["<x1>A red <x3>car</x3></x1> now"], 0),
        (CROSSING, ["<x1>A <x3/>red</x1> car<x7/>"], 0),
        (LINKED, ["A <x2>red car</x2> now"], 0),
        (NESTED, ["A <x2>red</x2><x5/>"], 0),
        # Its result ends in another paragraph.
        (LINKED[: -len(ENDED)], ["A <x2/>red car"], 0),
        (f"{run('A')}{field('begin')}{INSTRUCTION}", ["A<x2/><x3/>"], 0),
    ],
)
def test_text_in_elements_is_translated_or_counted(
    tmp_path, content, texts, left
):
    opened = document_of(tmp_path, content)
    assert opened.texts == texts
    assert sum(opened.skipped.values()) == left
    again = b"".join(opened.translated([t.replace("A", "B") for t in texts]))
    assert read(tmp_path, "b.docx", again).texts == [
        text.replace("A", "B") for text in texts
    ]


def test_nested_links_take_linear_time(tmp_path):
    link, others = run("a"), run(",") * 200
    for _ in range(100):
        link = f"<w:ins>{run('b')}{others}{link}</w:ins>"
    opened = document_of(tmp_path, link)
    begin = time.process_time()
    assert list(opened.translated(opened.texts))
    assert time.process_time() - begin < 10


def test_a_link_keeps_the_formatting_within_it(tmp_path):
    link = f"<w:hyperlink>{run('the very ')}{raised('whole')}</w:hyperlink>"
    form = f"<w:sdt><w:sdtPr/><w:sdtContent>{link}</w:sdtContent></w:sdt>"
    opened = document_of(tmp_path, f"{run('Read ')}{form}{run(' today')}")
    (text,) = opened.texts
    assert text == "Read <x2>the very <x4>whole</x4></x2> today"
    text = "Heute <x2>den <x4>ganzen</x4></x2> lesen"
    (content,) = opened.translated([text])
    xml = docx.Document(io.BytesIO(content)).paragraphs[0]._p.xml
    names = re.findall("<(/?w:(?:sdt|sdtContent|hyperlink|t))\\b", xml)
    inner = "w:t /w:t w:t /w:t"
    assert (
        names
        == (
            f"w:t /w:t w:sdt w:sdtContent w:hyperlink {inner} /w:hyperlink "
            "/w:sdtContent /w:sdt w:t /w:t"
        ).split()
    )


@pytest.mark.parametrize(
    ("content", "text", "codes"),
    [
        (
            NOTED,
            "jetzt <x1><x3>Auto</x3> rot</x1>",
            "bookmarkStart commentRangeStart commentRangeEnd bookmarkEnd",
        ),
        (LINKED, "jetzt <x2>Auto rot</x2> ein", "begin separate end"),
    ],
)
def test_what_begins_something_stays_before_what_ends_it(
    tmp_path, content, text, codes
):
    (xml,) = [*document_of(tmp_path, content).translated([text])]
    xml = docx.Document(io.BytesIO(xml)).paragraphs[0]._p.xml
    names = "bookmark|commentRange"
    found = re.findall(f'<w:((?:{names})[SE]\\w+)|fldCharType="(\\w+)"', xml)
    assert ["".join(each) for each in found] == codes.split()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no zip"])
def test_damaged_files_are_refused(tmp_path, content):
    with pytest.raises(InputError, match=r"no \.docx file"):
        read(tmp_path, "a.docx", content)


@pytest.mark.parametrize("says", ["all", "little"])
def test_what_unpacks_to_much_is_refused(path, monkeypatch, says):
    monkeypatch.setattr(word, "LARGEST", 1 << 20)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/more.xml", " " * (1 << 22))
    if says == "little":
        content = path.read_bytes()
        sizes = [struct.pack("<L", size) for size in (1 << 22, 1000)]
        path.write_bytes(content.replace(*sizes))
    with pytest.raises(InputError, match=r"no \.docx file"):
        WordDocument(path)


def test_a_missing_part_of_a_file_is_one_line(path):
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = "word/_rels/document.xml.rels"
    parts[name] = parts[name].replace(b"header1.xml", b"gone.xml")
    with zipfile.ZipFile(path, "w") as archive:
        for part in parts.items():
            archive.writestr(*part)
    with pytest.raises(InputError, match=r"no \.docx file"):
        WordDocument(path)
