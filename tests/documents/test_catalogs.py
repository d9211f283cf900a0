"""Catalogs: gettext, XLIFF, TMX."""

import functools
import time

import pytest

from keras_transformer.documents.catalogs import keeps_placeholders
from keras_transformer.errors import InputError
from tests.documents import conftest
from tests.documents.conftest import rewritten

PO = """# Translators
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

#: a.c:1
msgid "Open %s"
msgstr ""

#: a.c:2
msgid "Close"
msgstr "Schließen"

#, fuzzy
msgid "Save"
msgstr "Speichrn"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] ""
msgstr[1] ""

#~ msgid "Old"
#~ msgstr ""
"""

XLIFF_1 = """<?xml version='1.0' encoding='UTF-8'?>
<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2">
  <file original="a" source-language="en" target-language="de"><body>
    <!-- a comment -->
    <trans-unit id="1"><source>Open</source></trans-unit>
    <trans-unit id="2"><source>Close</source><target>Zu</target></trans-unit>
    <trans-unit id="3" translate="no"><source>No</source></trans-unit>
    <trans-unit id="4"><source>A <g id="1">bold</g> word</source></trans-unit>
    <trans-unit id="5"><source>Save</source><target/></trans-unit>
    <group translate="no">
      <trans-unit id="6"><source>No</source></trans-unit>
      <trans-unit id="7" translate=""><source>No</source></trans-unit>
    </group>
  </body></file>
</xliff>
"""
OASIS = "urn:oasis:names:tc:xliff:document"
XLIFF_2 = f"""<?xml version='1.0' encoding='UTF-8'?>
<xliff xmlns="{OASIS}:2.0" srcLang="en" version="2.0">
 <file id="f"><unit id="u">
  <segment><source>Open</source></segment>
 </unit></file>
</xliff>
"""
TMX = """<?xml version='1.0' encoding='UTF-8'?>
<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en-US"><seg>Open</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Close</seg></tuv>
<tuv xml:lang="de"><seg>Zu</seg></tuv></tu>
<tu><tuv xml:lang="fr"><seg>Ouvrir</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>A <bpt i="1"/>b</seg></tuv></tu>
</body></tmx>
"""


@pytest.fixture(autouse=True)
def libraries():
    for name in ("polib", "lxml"):
        pytest.importorskip(name, reason=f"{name} isn't installed: [files]")


read = functools.partial(conftest.read, languages=("en", "de"))


def test_what_is_untranslated_in_a_catalog_is_translated(tmp_path):
    document = read(tmp_path, "de.po", PO)
    assert document.texts == ["Open %s", "Save", "%d file", "%d files"]
    texts = ["%s öffnen", "Speichern", "%d Datei", "%d Dateien"]
    expected = PO.replace(
        '"Open %s"\nmsgstr ""', '"Open %s"\nmsgstr "%s öffnen"'
    )
    expected = expected.replace("#: a.c:1\n", "#: a.c:1\n#, fuzzy\n")
    expected = expected.replace("Speichrn", "Speichern")
    expected = expected.replace('msgid "%d file"', '#, fuzzy\nmsgid "%d file"')
    expected = expected.replace('[0] ""', '[0] "%d Datei"')
    expected = expected.replace('[1] ""', '[1] "%d Dateien"')
    assert rewritten(document, texts) == expected
    everything = read(tmp_path, "all.po", PO, overwrite=True)
    assert "Close" in everything.texts


def test_a_lost_placeholder_leaves_the_message_alone(tmp_path):
    document = read(tmp_path, "de.po", PO)
    texts = ["öffnen", "Speichern", "%d Datei", "Dateien"]
    content = rewritten(document, texts)
    assert 'msgid "Open %s"\nmsgstr ""' in content
    assert 'msgstr[0] "%d Datei"\nmsgstr[1] ""' in content
    assert document.skipped == {"with changed placeholders": 2}


def test_a_choice_is_no_translation_of_its_own(tmp_path):
    choice = "{n, plural, =0 {none} other {{n} of <x id='1'/>}}"
    content = XLIFF_1.replace("Open", choice).replace("Save", "{n}")
    document = read(tmp_path, "a.xlf", content)
    again = rewritten(document, document.texts)
    assert again.count("<target state=") == 2
    assert again.count("plural") == 1
    assert document.skipped == {"of a choice by number or kind": 1}


def test_one_plural_form_is_that_of_all_numbers(tmp_path):
    content = 'msgid "a file"\nmsgid_plural "%d files"\nmsgstr[0] ""\n'
    document = read(tmp_path, "zh.po", content)
    assert document.texts == ["%d files"]
    assert 'msgstr[0] "%d个文件"' in rewritten(document, ["%d个文件"])


def test_a_form_of_several_numbers_names_the_number(tmp_path):
    rule = "nplurals=2; plural=(n%10!=1)"
    header = f'msgid ""\nmsgstr ""\n"Plural-Forms: {rule};\\n"\n\n'
    forms = 'msgstr[0] ""\nmsgstr[1] ""\n'
    content = f'{header}msgid "a file"\nmsgid_plural "%d files"\n{forms}'
    assert read(tmp_path, "a.po", content).texts == ["%d files"]
    content = content.replace("a file", "%d file")
    assert read(tmp_path, "b.po", content).texts == ["%d file", "%d files"]


def test_bytes_by_number_stay(tmp_path):
    shown = r"\033[1mA\x1b \303\244 \134 \\033 \a"
    content = (
        f'# \\1\nmsgid "{shown}"\nmsgstr "{shown}"\n\nmsgid "b"\nmsgstr ""\n'
    )
    result = rewritten(read(tmp_path, "a.po", content), ["b"])
    assert r'msgstr "{}"'.format("\033[1mA\033 ä \\\\ \\\\033 \a") in result
    assert "# \\1\n" in result


def test_a_catalog_without_a_header_names_its_encoding(tmp_path):
    document = read(tmp_path, "a.po", 'msgid "Open"\nmsgstr ""\n')
    assert "charset=UTF-8" in rewritten(document, ["Öffnen"])


def test_a_form_with_a_translation_stays(tmp_path):
    content = PO.replace('[0] ""', '[0] "%d Dateichen"')
    document = read(tmp_path, "de.po", content)
    assert document.texts[2:] == ["%d files"]
    texts = [*document.texts[:2], "%d Dateien"]
    assert '"%d Dateichen"\nmsgstr[1] "%d Dateien"' in rewritten(
        document, texts
    )
    content = content.replace('msgid "%d file"', '#, fuzzy\nmsgid "%d file"')
    assert "%d file" in read(tmp_path, "fuzzy.po", content).texts


def test_a_catalog_names_its_encoding_and_language(tmp_path):
    content = (
        'msgid ""\nmsgstr ""\n'
        '"Content-Type: text/plain; charset=CHARSET\\n"\n\n'
        'msgid "good"\nmsgstr ""\n'
    )
    content = content.replace("CHARSET", 'CHARSET\\n"\n"Language: ')
    document = read(tmp_path, "a.po", content, languages=("en", "pt-BR"))
    result = rewritten(document, ["bom"])
    assert "charset=UTF-8" in result
    assert "Language: pt_BR" in result
    for language in ("pt@latin", "Portuguese"):
        other = content.replace("Language: ", f"Language: {language}")
        assert read(tmp_path, "a.po", other, languages=("en", "pt")).texts


def test_lines_of_a_catalog_end_where_gettext_ends_them(tmp_path):
    text = "a\u2028b\u2029c\x85d\x1ce"
    content = f'\ufeffmsgid "{text}"\nmsgstr ""\n\f\nmsgid "f"\nmsgstr ""\n'
    assert read(tmp_path, "a.po", content).texts == [text, "f"]


def test_a_catalog_that_names_another_opens_none(tmp_path):
    path = tmp_path / "other.po"
    path.write_text(PO)
    with pytest.raises(InputError, match=r"damaged \.po file \(line 1\)"):
        read(tmp_path, "a.po", str(path))


@pytest.mark.parametrize(
    ("source", "translation", "kept"),
    [
        ("50 % of all", "50 % aller", True),
        ("%1 of %2", "%2 von %1", True),
        ("%(name)s", "%(nom)s", False),
        ("{0} and {0}", "{0}", False),
        ("${x} {{y}} $[z]", "$[z] {{y}} ${x}", True),
        ("<b>a</b>", "<b>a", False),
        ("a &amp; b", "a und b", False),
        ("%-5.2f %lld %@", "%lld %-5.2f %@", False),
        ("%2$s of %1$d", "%1$d von %2$s", True),
        ("{} files deleted", "Dateien gelöscht", False),
        ("%dMB free", "MB frei", False),
        ("%dx%d pixels", "%d Pixel", False),
        ("%{count} files", "{count} Dateien", False),
        ("100%% sure", "100% sicher", False),
        ("{ name } is open", "Name ist offen", False),
        ("a 20%ige Lösung", "a 20% solution", True),
    ],
)
def test_placeholders_are_compared(source, translation, kept):
    assert keeps_placeholders(source, translation) is kept


@pytest.mark.parametrize(
    ("name", "element", "around"),
    [
        (
            "a.xlf",
            "source",
            '<xliff version="1.2"><file><body><trans-unit id="1">{}'
            "</trans-unit></body></file></xliff>",
        ),
        (
            "a.tmx",
            "seg",
            '<tmx version="1.4"><header/><body><tu><tuv xml:lang="en">{}</tuv>'
            "</tu></body></tmx>",
        ),
    ],
)
def test_elements_in_a_text_are_tags(tmp_path, name, element, around):
    inline = (
        'Open <g id="1">the <ph id="2">&lt;br&gt;</ph>file</g> '
        '<x id="3"/>now &amp; <!-- c -->then'
    )
    content = around.format(f"<{element}>{inline}</{element}>")
    document = read(tmp_path, name, content)
    text = "Open <x1>the <x2/>file</x1> <x3/>now & <x4/>then"
    assert document.texts == [text]
    found = rewritten(
        document, ["<x3/>Jetzt <x4/><x1>die<x2/> Datei</x1> & dann"]
    )
    assert (
        '<x id="3"/>Jetzt <!-- c --><g id="1">die<ph id="2">&lt;br&gt;</ph> '
        "Datei</g> &amp; dann<" in found
    )
    document = read(tmp_path, name, content)
    assert "Jetzt" not in rewritten(document, ["<x3/>Jetzt <x1>die Datei</x1>"])
    assert document.skipped == {"with changed placeholders": 1}


PAIRED = {
    "a.tmx": '<bpt i="1">&lt;b&gt;</bpt>red{}<ept i="1">&lt;/b&gt;</ept>',
    "a.xlf": '<bpt id="1" rid="1"/>red{}<ept id="2" rid="1"/>',
    "a.sdlxliff": '<bx id="1" rid="1"/>red{}<ex id="2" rid="1"/>',
    "a.xliff": '<sc id="1"/>red{}<ec startRef="1"/>',
    "b.xliff": '<sm id="1" type="comment"/>red{}<em startRef="1"/>',
}


@pytest.mark.parametrize("name", PAIRED)
def test_codes_of_a_pair_are_tags_of_a_pair(tmp_path, name):
    content = XLIFF_2 if name.endswith(".xliff") else XLIFF_1
    content = TMX if name == "a.tmx" else content
    inline = "the " + PAIRED[name].format(" <ph/>button")
    document = read(tmp_path, name, content.replace("Open", inline))
    assert document.texts[0] == "the <x1>red <x2/>button</x1>"
    texts = ["<x1><x2/>bouton rouge</x1> le", *document.texts[1:]]
    moved = PAIRED[name].replace("red{}", "<ph/>bouton rouge") + " le<"
    assert moved in rewritten(document, texts)
    # One whose end isn't in the text is alone.
    half = inline[: inline.index("red")]
    document = read(tmp_path, name, content.replace("Open", half))
    assert document.texts[0] == "the <x1/>"
    crossed = "<bpt id='1'/>a<bpt id='2'/>b<ept id='1'/>c<ept id='2'/>"
    document = read(tmp_path, "a.xlf", XLIFF_1.replace("Open", crossed))
    assert document.texts[0] == "<x1>a<x2>b</x1>c</x2>"
    again = rewritten(document, document.texts).replace('"', "'")
    assert again.count(crossed) == 2


def test_codes_take_no_quadratic_time(tmp_path):
    ids = range(16_000)
    codes = "".join(f'<bx id="{n}"/>' for n in ids)
    codes += "a" + "".join(f'<ex id="{n}"/>' for n in ids)
    content = XLIFF_1.replace(">Open<", f">{codes}<")
    began = time.process_time()
    document = read(tmp_path, "a.xlf", content)
    assert rewritten(document, document.texts).count("<ex") == 32_000
    assert time.process_time() - began < 10


def test_protected_text_is_not_translated(tmp_path):
    inline = '<mrk mtype="protected">A</mrk> of <mrk translate="no">B</mrk>'
    document = read(tmp_path, "a.xlf", XLIFF_1.replace("Open", inline))
    assert document.texts[0] == "<x1/> of <x2/>"
    assert rewritten(document, document.texts).count(inline) == 2


@pytest.mark.parametrize("ending", ["xlf", "sdlxliff", "mqxliff", "mxliff"])
def test_xliff_1_gets_targets(tmp_path, ending):
    document = read(tmp_path, f"a.{ending}", XLIFF_1)
    assert document.texts == ["Open", "A <x1>bold</x1> word", "Save"]
    state = ' state="needs-review-translation"'
    expected = XLIFF_1.replace(
        "Open</source>", f"Open</source><target{state}>Öffnen</target>"
    ).replace("<target/>", f"<target{state}>Sichern</target>")
    expected = expected.replace(
        "bold</g> word</source>",
        f'bold</g> word</source><target{state}>Wort <g id="1">A</g></target>',
    )
    texts = ["Öffnen", "Wort <x1>A</x1>", "Sichern"]
    assert rewritten(document, texts) == expected


def test_the_nearest_word_on_translation_counts(tmp_path):
    content = XLIFF_1.replace('translate=""', 'translate="yes"')
    document = read(tmp_path, "a.xlf", content)
    assert document.texts == ["Open", "A <x1>bold</x1> word", "Save", "No"]


def test_xliff_2_gets_targets(tmp_path):
    state = '<segment state="initial" subState="a:b">'
    content = XLIFF_2.replace("<segment>", state)
    document = read(tmp_path, "a.xliff", content)
    expected = XLIFF_2.replace(
        "<segment><source>Open</source>",
        '<segment state="translated"><source>Open</source>'
        "<target>Öffnen</target>",
    ).replace('version="2.0"', 'version="2.0" trgLang="de"')
    assert rewritten(document, ["Öffnen"]) == expected


def test_a_new_target_has_its_language_and_its_space(tmp_path):
    content = XLIFF_1.replace(' target-language="de"', "")
    content = content.replace("<source>", '<source xml:space="preserve">', 1)
    document = read(tmp_path, "a.xlf", content)
    result = rewritten(document, document.texts)
    assert result.count('target-language="de"') == 1
    assert result.count('<target xml:space="preserve"') == 1


def test_a_target_is_after_the_segments_of_the_source(tmp_path):
    segments = "<seg-source><mrk>Open</mrk></seg-source>"
    content = XLIFF_1.replace("Open</source>", f"Open</source>{segments}")
    document = read(tmp_path, "a.xlf", content)
    assert f"{segments}<target " in rewritten(document, document.texts)


def test_each_segment_of_a_unit_has_its_target(tmp_path):
    segments = "".join(
        f'<mrk mtype="seg" mid="{number}">{text}</mrk> '
        for number, text in enumerate(("One.", "Two.", "Three."))
    )
    target = '<mrk mtype="seg" mid="0">Eins.</mrk> '
    content = XLIFF_1.replace(
        "Open</source>",
        f"Open</source><seg-source>{segments}</seg-source>"
        f"<target>{target}</target>",
    )
    document = read(tmp_path, "a.sdlxliff", content)
    assert document.texts[:2] == ["Two.", "Three."]
    found = rewritten(document, ["Zwei.", "Drei.", *document.texts[2:]])
    expected = segments.replace("One", "Eins").replace("Two", "Zwei")
    expected = expected.replace("Three", "Drei")
    assert f'<target state="needs-review-translation">{expected}<' in found
    content = content.replace(f"<target>{target}</target>", "")
    document = read(tmp_path, "a.xlf", content)
    assert f">{segments}</target>" in rewritten(document, document.texts)


@pytest.mark.parametrize(
    "target",
    [
        "",
        "<target/>",
        '<target><mrk mtype="seg" mid="b">Zwei.</mrk></target>',
    ],
)
def test_a_target_has_what_is_between_segments(tmp_path, target):
    divided = (
        '<g id="5"><mrk mtype="seg" mid="a">One <x id="6"/></mrk> <x id="7"/>'
        '<mrk mtype="seg" mid="b">Two.</mrk></g> '
    )
    content = XLIFF_1.replace(
        "Open</source>",
        f"Open</source><seg-source>{divided}</seg-source>{target}",
    )
    document = read(tmp_path, "a.xlf", content)
    translations = [
        text.replace("One", "Eins").replace("Two", "Zwei")
        for text in document.texts
    ]
    expected = divided.replace("One", "Eins").replace("Two", "Zwei")
    found = rewritten(document, translations)
    assert f'<target state="needs-review-translation">{expected}<' in found


def test_no_segment_of_a_target_is_lost(tmp_path):
    target = '<mrk mtype="seg" mid="9">Neun.</mrk>'
    content = XLIFF_1.replace(
        "Open</source>",
        'Open</source><seg-source><mrk mtype="seg" mid="1">One '
        '<mrk mtype="seg" mid="2">two</mrk></mrk></seg-source>'
        f"<target>{target}</target>",
    )
    document = read(tmp_path, "a.xlf", content)
    assert document.texts[0] == "One <x1>two</x1>"
    found = rewritten(document, document.texts)
    assert f"two</mrk></mrk>{target}</target>" in found


@pytest.mark.parametrize(
    ("attribute", "text"),
    [("", "Open the file <x1/>"), (' xml:space="preserve"', None)],
)
def test_lines_of_a_source_are_those_of_the_file(tmp_path, attribute, text):
    lines = "\n  Open\n  the file <x id='1'/>\n"
    content = XLIFF_1.replace("<source>Open", f"<source{attribute}>{lines}")
    expected = text or lines.replace("<x id='1'/>", "<x1/>")
    assert read(tmp_path, "a.xlf", content).texts[0] == expected


def test_no_person_has_approved_a_new_translation(tmp_path):
    content = XLIFF_1.replace('id="2"', 'id="2" approved="yes"')
    document = read(tmp_path, "a.xlf", content, overwrite=True)
    assert "approved" not in rewritten(document, document.texts)
    document = read(tmp_path, "a.xlf", content)
    assert "approved" in rewritten(document, document.texts)


@pytest.mark.parametrize("state", ["new", "needs-translation", "final"])
def test_a_copy_of_the_source_is_no_translation(tmp_path, state):
    target = f'<target state="{state}">Open</target>'
    content = XLIFF_1.replace("Open</source>", f"Open</source>{target}")
    assert ("Open" in read(tmp_path, "a.xlf", content).texts) == (
        state != "final"
    )


@pytest.mark.parametrize("encoding", ["utf-16", "windows-1252"])
def test_xml_is_read_in_the_encoding_that_it_names(tmp_path, encoding):
    content = XLIFF_1.replace("UTF-8", encoding).replace("Open", "Tür")
    document = read(tmp_path, "a.xlf", content.encode(encoding))
    assert document.texts[0] == "Tür"
    assert "<source>Tür</source>" in rewritten(document, document.texts)


def test_tmx_has_variants_of_one_language(tmp_path):
    variant = '<tuv xml:lang="{}"><seg>{}</seg></tuv>'
    content = (
        f"<tmx><body><tu>{variant.format('pt-BR', 'Abrir')}</tu></body></tmx>"
    )
    document = read(tmp_path, "a.tmx", content, languages=("pt-BR", "pt-PT"))
    assert document.texts == ["Abrir"]
    result = rewritten(document, ["Aceder"])
    assert variant.format("pt-BR", "Abrir") in result
    assert variant.format("pt-PT", "Aceder") in result


def test_tmx_gets_variants(tmp_path):
    document = read(tmp_path, "a.tmx", TMX)
    assert document.texts == ["Open", "A <x1/>b"]
    expected = TMX.replace(
        "Open</seg></tuv>",
        'Open</seg></tuv><tuv xml:lang="de"><seg>Öffnen</seg></tuv>',
    ).replace(
        "b</seg></tuv>",
        'b</seg></tuv><tuv xml:lang="de"><seg>B<bpt i="1"/></seg></tuv>',
    )
    assert rewritten(document, ["Öffnen", "B<x1/>"]) == expected
    for lost in ("Zu", "<seg>Zu</seg>"):
        empty = read(tmp_path, "c.tmx", TMX.replace(lost, ""))
        assert "<seg>Dicht</seg>" in rewritten(empty, ["Auf", "Dicht", "<x1/>"])
    again = read(tmp_path, "b.tmx", expected, overwrite=True)
    assert again.texts == ["Open", "Close", "A <x1/>b"]
    assert "Auf" in rewritten(again, ["Auf", "Zu", "<x1/>"])


BOMB = (
    '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'
    '<xliff version="1.2"><file><body><trans-unit><source>&b;</source>'
    "</trans-unit></body></file></xliff>"
)
OTHER_FILE = (
    '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'
    '<xliff version="1.2"><file><body><trans-unit><source>&a;</source>'
    "</trans-unit></body></file></xliff>"
)


@pytest.mark.parametrize("content", [BOMB, OTHER_FILE])
def test_entities_are_not_expanded(tmp_path, content):
    document = read(tmp_path, "a.xlf", content)
    assert not document.texts


@pytest.mark.parametrize(
    ("name", "content", "options", "says"),
    [
        ("a.po", 'msgid "a"\nmsgstr', {}, "damaged .po file"),
        ("a.po", '\nmsgid "a\nmsgstr ""', {}, r"line 2.* Received: .*\"a'"),
        ("a.po", 'msgid "a\\"\nmsgstr ""', {}, "line 1"),
        ("a.po", 'msgid ""\n"a"b"\nmsgstr ""', {}, "line 2"),
        ("a.po", '\n#~ msgstr[1] a"', {}, "line 2"),
        (
            "a.po",
            'msgid "a"\nmsgid_plural "b"\nmsgstr "c"',
            {},
            r"no msgstr\[0\] of",
        ),
        (
            "a.po",
            'msgid "a"\nmsgid_plural ""\nmsgstr[0] ""\nmsgstr[1] ""\n',
            {},
            "no msgid_plural of 'a'",
        ),
        (
            "a.po",
            'msgid ""\nmsgstr "Language: fr_FR\\n"\n',
            {},
            "its Language must be de. Received: fr_FR",
        ),
        (
            "a.xlf",
            XLIFF_1,
            {"languages": ("cs", "de")},
            "source-language must be cs. Received: en",
        ),
        (
            "a.xlf",
            XLIFF_2.replace('"en" v', '"en" trgLang="fr" v'),
            {},
            "trgLang must be de. Received: fr",
        ),
        ("a.xlf", "<xliff", {}, "damaged XML"),
        ("a.xlf", "", {}, "damaged XML"),
        ("a.xlf", "<html/>", {}, "an element html"),
        ("a.tmx", TMX, {"languages": ("pl", "de")}, "no text in pl. .* de, en"),
        ("a.tmx", TMX, {"languages": None}, "aren't known"),
        ("a.csv", "a\n1\n", {"field": "a", "overwrite": True}, "goes with po"),
    ],
)
def test_what_is_wrong_is_refused(tmp_path, name, content, options, says):
    with pytest.raises(InputError, match=says):
        read(tmp_path, name, content, **options)
