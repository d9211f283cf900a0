"""Corpora in the formats of other programs."""

import gzip
import json
import lzma

import pytest

from keras_transformer.config import DataConfig
from keras_transformer.data.corpus import CorpusFile, file_pairs, read_blocks
from keras_transformer.data.corpus_languages import with_languages
from keras_transformer.data.mixing import WeightedCorpus
from keras_transformer.data.prepare import prepare
from keras_transformer.errors import InputError
from tests.processes import peak_memory

UNIT = """<tu><note>x</note>
<tuv xml:lang="de-DE"><seg>{de}</seg></tuv>
<tuv xml:lang="EN-US"><seg>{en}</seg></tuv>
<tuv xml:lang="fr"><seg>{fr}</seg></tuv></tu>
"""


def tmx(*units, original="EN-US"):
    body = "".join(UNIT.format(**unit) for unit in units)
    header = f'<header srclang="{original}" datatype="plaintext"/>'
    doctype = '<!DOCTYPE tmx SYSTEM "tmx14.dtd">'
    return (
        f'<?xml version="1.0"?>\n{doctype}\n<tmx version="1.4">{header}'
        f"<body>{body}</body></tmx>"
    )


BOLD = '<bpt i="1">&lt;b&gt;</bpt>Open<ept i="1">&lt;/b&gt;</ept> it &amp; go'
TMX = tmx(
    {"en": "Open", "de": "Öffnen", "fr": "Ouvrir"},
    {"en": BOLD, "de": "Auf\n\t damit", "fr": ""},
)
XLIFF_1 = """<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file source-language="en" target-language="de-AT"><header/><body><group>
<trans-unit id="1"><source>Open</source><target>Öffnen</target></trans-unit>
<trans-unit id="2"><source>Save</source></trans-unit>
<trans-unit id="3"><source>Go</source><target state="new">Go</target>
</trans-unit><trans-unit id="5"><source>Close</source>
<target state="needs-review-translation">Nahe</target>
</trans-unit><trans-unit id="4">
<source>The <g id="1">end</g><x id="2"/></source>
<target>Das <g id="1">Ende</g><x id="2"/></target></trans-unit>
</group></body></file></xliff>"""
XLIFF_2 = """<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0"
 srcLang="en" trgLang="de"><file id="f"><unit id="1"><segment>
<source>Open</source><target>Öffnen</target></segment>
<segment state="initial"><source>Go</source><target>Go</target></segment>
</unit></file></xliff>"""
PO = r"""
msgid ""
msgstr "Language: de\n"

msgid "Open"
msgstr "Öffnen"

#, fuzzy
msgid "Save"
msgstr "Sichern"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d Datei"
msgstr[1] "%d Dateien"

msgid "Two\n"
"lines"
msgstr "Zwei\n"
"Zeilen"

msgid "Close"
msgstr ""
"""
PLURALS = [("%d file", "%d Datei"), ("%d files", "%d Dateien")]
LINES = [
    {"id": "1", "en": "Open", "de": "Öffnen"},
    {"translation": {"en": "Save\tit", "de": "Sichern"}},
]
OPEN = ("Open", "Öffnen")
FILES = {
    "a.tmx": (TMX, [OPEN, ("<b>Open</b> it & go", "Auf damit")]),
    "a.xlf": (
        XLIFF_1,
        [OPEN, ('The <g id="1">end</g><x id="2"/>',
                'Das <g id="1">Ende</g><x id="2"/>')],
    ),
    "a.xliff": (XLIFF_2, [OPEN]),
    "a.po": (PO, [OPEN, *PLURALS, ("Two lines", "Zwei Zeilen")]),
    "a.jsonl": (
        "".join(json.dumps(line) + "\n\n" for line in LINES),
        [OPEN, ("Save it", "Sichern")],
    ),
    # Of two translations the first.
    "two.tmx": (
        TMX.replace("fr", "de-DE"),
        [OPEN, ("<b>Open</b> it & go", "Auf damit")],
    ),
    "nul.jsonl": ('{"en": "a\\u0000", "de": "b"}', [("a\ufffd", "b")]),
    "sides.jsonl": ('{"src": "Open", "tgt": "Öffnen"}', [OPEN]),
}  # fmt: skip
PACKED = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}


def pairs_of(file):
    """The pairs of a corpus file, which streams and blocks agree on."""
    pairs = [pair for pair in file_pairs(file) if any(pair)]
    blocks = read_blocks([file], size=7)
    found = [pair for block in blocks for pair in block.pairs()]
    assert [pair for pair in found if any(pair)] == pairs
    return pairs


def test_units_without_both_texts_are_counted(write):
    units = [{"en": "a", "de": "b", "fr": "c"}] * 3
    content = tmx(*units).replace('xml:lang="de-DE"', 'xml:lang="pl"', 1)
    file = CorpusFile(write("a.tmx", content), languages=("en", "de"))
    assert list(file_pairs(file)) == [("", ""), ("a", "b"), ("a", "b")]
    file = CorpusFile(write("a.xlf", XLIFF_1))
    found = [any(pair) for pair in file_pairs(file)]
    assert found == [True, False, False, False, True]


def test_elements_may_be_in_each_other_to_any_depth(write):
    deep = "<hi>" * 2000 + "Open" + "</hi>" * 2000
    path = write("a.tmx", tmx({"en": deep, "de": "Auf", "fr": ""}))
    assert list(file_pairs(CorpusFile(path))) == [("Open", "Auf")]


def test_white_space_takes_no_time(write):
    row = {"en": f"a{' ' * 500_000}b", "de": "c \n d"}
    file = CorpusFile(write("a.jsonl", json.dumps(row)))
    ((source, target),) = file_pairs(file)
    assert (len(source), target) == (500_002, "c d")


@pytest.mark.parametrize("packed", PACKED)
@pytest.mark.parametrize("name", FILES)
def test_pairs_of_each_format(write, name, packed):
    if name.endswith(".po"):
        pytest.importorskip("polib")
    content, pairs = FILES[name]
    path = write(name + packed, PACKED[packed](content.encode()))
    assert pairs_of(CorpusFile(path, languages=("en", "de"))) == pairs
    # As the file itself says.
    assert pairs_of(CorpusFile(path)) == pairs
    swapped = CorpusFile(path, languages=("de", "en"))
    if "sides" not in name:
        assert pairs_of(swapped) == [(b, a) for a, b in pairs]


def test_a_language_of_several_variants_is_the_one_that_is_named(write):
    content = TMX.replace('"fr"', '"de"').replace("Ouvrir", "Auf")
    path = write("a.tmx", content)
    pairs = [file_pairs(CorpusFile(path, languages=("en", tag))) for tag in
             ("de", "de-DE", "de-CH")]  # fmt: skip
    assert [next(each)[1] for each in pairs] == ["Auf", "Öffnen", "Öffnen"]


@pytest.mark.parametrize(
    ("tag", "text"),
    [("zh-TW", "免費。"), ("zh-HK", "免費。"), ("zh", "免费。")],
)
def test_a_variant_is_found_however_its_tag_is_spelled(write, tag, text):
    unit = {"en-us": "Free.", "zh_CN": "免费。", "zh_tw": "免費。"}
    file = CorpusFile(write("a.jsonl", json.dumps(unit)), languages=("en", tag))
    assert pairs_of(file) == [("Free.", text)]


@pytest.mark.parametrize("tag", ["sr-Latn", "sr_latn", "sr", "sr@latin"])
def test_a_locale_with_a_modifier_is_a_language(write, tag):
    pytest.importorskip("polib")
    header = 'msgid ""\nmsgstr "Language: sr@latin\\n"\n\n'
    path = write("a.po", f'{header}msgid "Open"\nmsgstr "Otvori"\n')
    file = CorpusFile(path, languages=("en", tag))
    assert pairs_of(file) == [("Open", "Otvori")]


def test_rows_have_more_than_texts_and_texts_that_lack(write):
    rows = [{"url": "http://a.b", "en": "Open", "de": "Öffnen"}]
    rows.append({"url": None, "en": "Close", "de": None})
    path = write("a.jsonl", "\n".join(map(json.dumps, rows)))
    config = with_languages(DataConfig(), [WeightedCorpus.parse(path)])
    assert (config.source_language, config.target_language) == ("en", "de")
    file = CorpusFile(path, languages=("en", "de"))
    assert list(file_pairs(file)) == [("Open", "Öffnen"), ("Close", "")]


def test_utf_16_is_read_where_the_format_says_so(write):
    content = TMX.replace('"1.0"', '"1.0" encoding="UTF-16"', 1)
    file = CorpusFile(write("a.tmx", content.encode("utf-16")))
    assert next(file_pairs(file)) == OPEN


@pytest.mark.parametrize(
    ("name", "languages"),
    [
        ("a.tmx", ("EN-US", "de-DE")),
        ("a.xlf", ("en", "de-AT")),
        ("a.xliff", ("en", "de")),
        ("a.jsonl", ("en", "de")),
    ],
)
def test_files_say_their_languages(write, name, languages):
    path = write(name, FILES[name][0])
    corpora = [WeightedCorpus.parse(f"{path}*0.5")]
    found = with_languages(DataConfig(), corpora)
    assert (found.source_language, found.target_language) == languages
    given = with_languages(DataConfig(target_language="de"), corpora)
    assert given.target_language == "de"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.tmx", TMX[:-20], r"a\.tmx: damaged XML"),
        ("a.tmx", b'<?xml version="1.0" encoding="GB2312"?><a/>', "encoding"),
        ("a.tmx", b'<?xml version="1.0" encoding="x"?><a/>', "encoding"),
        ("a.tmx", TMX, "no translated text in en and pl. Accepted: languages"),
        ("a.po", PO.replace("msgid", "msg"), r"a\.po: damaged \.po file"),
        ("a.po", b"\xff", r"a\.po: not UTF-8"),
        ("a.jsonl", "{\n", r"a\.jsonl, line 1: no JSON"),
        ("a.jsonl", '{"n": "b", "en": "a"}', "such as en and de.*n: str, en"),
        ("a.jsonl", '{"en": 1, "de": "1"}', "strings with .* en: int, de: str"),
        ("a.tmx.gz", b"\x1f\x8b", "damaged gzip file"),
        ("a.tmx.xz", lzma.compress(TMX.encode())[:40], "damaged xz file"),
        ("a.tmx.xz", b"plain", "damaged xz file"),
    ],
)
def test_damaged_and_other_files_are_refused(write, name, content, says):
    if name.endswith(".po"):
        pytest.importorskip("polib")
    file = CorpusFile(write(name, content), languages=("en", "pl"))
    for read in (lambda: file_pairs(file), lambda: read_blocks([file])):
        with pytest.raises(InputError, match=says) as error:
            list(read())
        assert "\n" not in str(error.value)


@pytest.mark.medium
def test_memory_does_not_grow_with_the_file(write):
    unit = {"en": "Open " * 20, "de": "Öffnen " * 20, "fr": "Ouvrir " * 20}
    path = write("a.tmx", tmx(*[unit] * 20_000))
    pairs = file_pairs(CorpusFile(path))
    count, peak = peak_memory(lambda: sum(1 for _ in pairs))
    assert count == 20_000
    assert path.stat().st_size > 10_000_000
    assert peak < 2_000_000


def test_data_is_prepared_in_the_direction_that_is_asked_for(write, tmp_path):
    unit = {"en": "a file", "de": "Datei", "fr": ""}
    config = DataConfig(
        source_language="de",
        target_language="en",
        source_tokenizer="space",
        target_tokenizer="space",
    )
    path = write("a.tmx.xz", lzma.compress(tmx(unit).encode()))
    data = prepare([path], tmp_path / "data", config)
    assert data.counts["train"] == 1
    assert "Datei" in data.source_tokenizer.tokens()
    assert "file" in data.target_tokenizer.tokens()
