"""Markup: found, taken out, and placed by alignments good and bad."""

import random
import re
import time

import pytest

from keras_transformer.documents.markup import (
    Span,
    checked_placeholders,
    find_marks,
    mask_marks,
    mask_text,
    place_marks,
    strip_marks,
    token_spans,
)
from keras_transformer.errors import InputError


def spans(text):
    return [Span(*m.span()) for m in re.finditer(r"\w+|[^\w\s]", text)]


def placed(source, translation, alignment, weights=()):
    stripped = strip_marks(source, find_marks(source))
    return place_marks(
        stripped,
        translation,
        spans(stripped.text),
        spans(translation),
        alignment,
        weights,
    )


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("Click <b>Save</b>.", ["<b>", "</b>"]),
        ('<a href="x>y">z</a>', ['<a href="x>y">', "</a>"]),
        ("a < b and b > c", []),
        ("1<2, x<y>z", ["<y>"]),
        ("a<br/>b<!-- <i> -->c", ["<br/>", "<!-- <i> -->"]),
        (
            '<!DOCTYPE html><?xml version="1.0"?><![CDATA[a <b>]]>',
            [
                "<!DOCTYPE html>",
                '<?xml version="1.0"?>',
                *("<![CDATA[", "<b>", "]]>"),
            ],
        ),
        (
            "&lt;a href=&quot;x&quot;&gt;b&lt;/a&gt; 1 &lt; 2 &gt; 1",
            ["&lt;a href=&quot;x&quot;&gt;", *("&lt;/a&gt;", "&lt;", "&gt;")],
        ),
        ("Tom &amp; Jerry &#160; R&D;x", ["&amp;", "&#160;", "&D;"]),
        ("%s of %1 files, %(name)s, 50% off", ["%s", "%1", "%(name)s"]),
        (
            "{name} {{x}} ${y} $[officename] {} {0:>10} { a b }",
            ["{name}", "{{x}}", "${y}", "$[officename]", "{}", "{0:>10}"],
        ),
        ("{ a } of %#@b@ in %#@c", ["{ a }", "%#@b@", "%#@c"]),
        (
            "{n, plural, =0 {no files} one {# file} other {# files}} of {n}",
            ["{n, plural, =0 {no files} one {# file} other {# files}}", "{n}"],
        ),
        (
            "{g,select,other{{n, plural, other {<b>{n}</b> of {m}}}}} left",
            ["{g,select,other{{n, plural, other {<b>{n}</b> of {m}}}}}"],
        ),
        (
            "%dMB, %dx%d, %ds, %s_old, %.*f, %-*d, %ju, %L1, %%, 100%%, %s%%",
            "%dMB %dx %d %ds %s_old %.*f %-*d %ju %L1 %% %% %s %%".split(),
        ),
        (
            "{0, choice, 0#no files|1#one file}, %'d",
            ["{0, choice, 0#no files|1#one file}", "%'d"],
        ),
        ("Go to www.a.org/b, see www. c", ["www.a.org/b"]),
        (
            "%{count} of %<n>s, %<PRIu64> bytes",
            "%{count} %<n>s %<PRIu64>".split(),
        ),
        ("50%<b>a</b> or %<x1>b</x1>", "<b> </b> <x1> </x1>".split()),
        ("50%ige, 50 %ige, 5%s, 50% der, a % b", ["%s"]),
        ("5%-Hürde, 100%-os, %50 indirim, %-5d, %1", ["%-5d", "%1"]),
        ("%PRODUCTNAME Writer", ["%PRODUCTNAME"]),
        ("press %MOD1+D", ["%MOD1"]),
        (
            "See https://a.org/x?y=1. Mail a.b@c.org!",
            ["https://a.org/x?y=1", "a.b@c.org"],
        ),
        (
            "“https://a.org/ü”，「https://b.org」或",
            ["https://a.org/ü", "https://b.org"],
        ),
        (
            "http://a.b، http://a.c؟ http://a.d۔ http://a.e। http://a.f։ (http://"
            "a.g\u200f)",
            [f"http://a.{letter}" for letter in "bcdefg"],
        ),
        (
            "请访问https://a.org/d下载。https://b.org/を参照 https://c.org에서",
            ["https://a.org/d", "https://b.org/", "https://c.org"],
        ),
        (
            "%d个文件，%@ 访问https://a.org，联系admin@a.org获取，50%的",
            ["%d", "%@", "https://a.org", "admin@a.org"],
        ),
        (
            "http://a.b/C_(d), (see http://a.b/c). [x](http://a.b/(c)_(d))",
            ["http://a.b/C_(d)", "http://a.b/c", "http://a.b/(c)_(d)"],
        ),
        (
            "jörg@a.de, -info@müller.de. 联系admin@a.org",
            ["jörg@a.de", "info@müller.de", "admin@a.org"],
        ),
        (
            r"%APPDATA%\a of %user_2%, %MOD1%s, 5%rab%, %1% %ab% %name%你",
            "%APPDATA% %user_2% %MOD1 %s %1 %ab %name%".split(),
        ),
        ("⟨1⟩ ⟨/16⟩ ⟨2/⟩ ⟨t⟩ ⟨17⟩ ⟨x⟩", ["⟨1⟩", "⟨/16⟩", "⟨2/⟩", "⟨t⟩"]),
        ("", []),
    ],
)
def test_marks_are_found(text, marks):
    assert [text[m.start : m.end] for m in find_marks(text)] == marks


@pytest.mark.parametrize(
    ("text", "partners"),
    [
        ("<a><b></b></a>", [3, 2, 1, 0]),
        ("<a><br></a>", [2, 1, 0]),
        ("<A>x</a>&lt;b&gt;&lt;/b&gt;&lt;b/&gt;", [1, 0, 3, 2, 4]),
        ("</a><a>", [0, 1]),
        ("<a><b></a></b>", [2, 1, 0, 3]),
        ("<a></a><a></a>", [1, 0, 3, 2]),
        ("<a/><a></a>", [0, 2, 1]),
        ("⟨1⟩⟨2/⟩⟨/1⟩⟨/2⟩", [2, 1, 0, 3]),
        ("⟨t⟩</t><t>⟨/t⟩", [3, 1, 2, 0]),
    ],
)
def test_tags_are_paired(text, partners):
    assert [mark.partner for mark in find_marks(text)] == partners


@pytest.mark.parametrize(
    "text",
    [
        "%" + "0" * 16_000,
        "<!--" * 4_000,
        "<br><b>x</b>" * 2_000,
        "a.b@" * 4_000,
        "a." * 8_000,
        "{" * 16_000,
        "{ a" * 8_000,
        "{a, plural, {b} " * 4_000,
        "<a '" * 4_000,
        "&lt;a " * 4_000,
        "<![CDATA[" * 4_000,
        "www.a" * 4_000,
        "www.(" * 4_000,
        "www." + "(a" * 8_000,
        "www." + "(a)." * 4_000 + "(" * 8_000,
        "%abc" * 4_000,
        "%dpx%%" * 4_000,
        "a@" + "ä-" * 8_000,
        "&#" * 8_000,
    ],
)
def test_no_text_takes_long(text):
    began = time.process_time()
    find_marks(text)
    assert time.process_time() - began < 1


def test_own_marks_are_found():
    text = "~File <b>ID-17</b> 50%"
    marks = find_marks(text, ("~(?=[A-Z])", r"ID-\d+"))
    found = [text[m.start : m.end] for m in marks]
    assert found == ["~", "<b>", "ID-17", "</b>"]
    assert checked_placeholders(["a+"]) == checked_placeholders("a+") == ("a+",)
    assert checked_placeholders([r"\(?PLACE\)?"])
    # One among several has no flags, numbers and names of its own.
    own = (r"(?i)a", r"(a)\1", "(?P<term>a)", "(?P<n>a)")
    too_large = ("a{4294967295}", "(" * 5000 + "a" + ")" * 5000)
    for pattern in ("(", "a*", 5, *own, *too_large):
        with pytest.raises(InputError, match="matches no empty text"):
            checked_placeholders([pattern])


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("a b", ["a b"]),
        ("a <b>c</b> %s", ["a ⟨1⟩c⟨/1⟩ ⟨2/⟩"]),
        ("<i><b></b>x</i><br/>", ["⟨1⟩⟨2⟩⟨/2⟩x⟨/1⟩⟨3/⟩"]),
        ("</b><b> ⟨7⟩", ["⟨1/⟩⟨2/⟩ ⟨3/⟩"]),
        # A text is cut where a sentence ends, if one does.
        (
            "%s " * 16 + "a. b\nc %s d",
            ["".join(f"⟨{k}/⟩ " for k in range(1, 17)) + "a. b\n", "c ⟨1/⟩ d"],
        ),
        (
            "<i>" + "%s " * 16 + "</i>",
            ["⟨1⟩" + "".join(f"⟨{k}/⟩ " for k in range(2, 17)), "⟨1/⟩ ⟨/2⟩"],
        ),
    ],
)
def test_marks_are_masked_and_come_back(text, masked):
    parts = mask_marks(text, find_marks(text))
    assert [part.text for part in parts] == masked
    assert "".join(part.unmasked(part.text) for part in parts) == text


def test_annotated_terms_have_symbols_while_there_are_numbers():
    term = "⟨t⟩a⟨=⟩b⟨/t⟩"
    (masked,) = mask_text(f"<b>{term}</b> %s {term}")
    assert masked.text == f"⟨1⟩⟨2⟩{term}⟨/2⟩⟨/1⟩ ⟨3/⟩ ⟨4⟩{term}⟨/4⟩"
    assert masked.unmasked("⟨1⟩⟨2⟩b⟨/2⟩⟨/1⟩ ⟨3/⟩ ⟨4⟩c⟨/4⟩") == "<b>b</b> %s c"
    # Places of terms that are lost, as in other searches, move no marks.
    lost = "⟨1⟩b⟨/1⟩ c ⟨3/⟩ ⟨4⟩b⟨/4⟩ d"
    assert masked.unmasked(lost) == "<b>b</b> c %s b d"
    for marks, terms, left in ((15, 3, 1), (16, 3, 0)):
        (masked,) = mask_text(f"{'%s ' * marks}{f' {term}' * terms}")
        assert list(masked.marks.values()).count("") == 2 * left


@pytest.mark.parametrize(
    ("text", "translation", "expected"),
    [
        ("a <b>c</b> %s", "⟨2/⟩ x ⟨1⟩y⟨/1⟩", "%s x <b>y</b>"),
        ("a <b>c</b> %s", "x ⟨1⟩y⟨/1⟩", "x <b>y</b> %s"),
        ("a <b>c</b> d", "x ⟨/1⟩y⟨1⟩ z", "x <b>y</b> z"),
        ("a <b>c</b> d", "x ⟨1⟩y⟨/1⟩ ⟨1⟩z⟨/1⟩ ⟨7/⟩", "x <b>y</b> z"),
        ("<i>a</i> <b>c</b>", "⟨1⟩x ⟨2⟩y⟨/1⟩ z⟨/2⟩", "<i>x y</i> <b>z</b>"),
        ("打开 <b>文件</b>", "", "<b></b>"),
        ("Open %s", "打开⟨t⟩", "打开%s"),
    ],
)
def test_symbols_that_a_search_lost_come_back(text, translation, expected):
    (masked,) = mask_marks(text, find_marks(text))
    assert masked.unmasked(translation) == expected


@pytest.mark.parametrize(
    ("text", "translation", "expected"),
    [
        ("a %s range", "der ⟨1/⟩bereich", "der %s bereich"),
        ("a %1 range", "⟨1/⟩2", "%1 2"),
        ("see http://a.b/ or me@a.b", "⟨1/⟩x⟨2/⟩y", "http://a.b/ x me@a.b y"),
        ("in a@b.cd x", "in⟨1/⟩ x", "in a@b.cd x"),
        ("in a@b.cd", "in der-⟨1/⟩", "in der- a@b.cd"),
        ("see http://a.b/c x", "⟨1/⟩-y", "http://a.b/c -y"),
        (
            "http://a.b/c<i>&amp;</i>",
            "⟨1/⟩⟨3/⟩⟨2⟩⟨/2⟩",
            "http://a.b/c &amp;<i></i>",
        ),
        ("see http://a.b/c %s x", "⟨1/⟩⟨2/⟩y", "http://a.b/c %s y"),
        # As the source has it, and where nothing is taken for a part of it.
        ("two KEYs of it", "zwei ⟨1/⟩s", "zwei KEYs"),
        ("a {b} c %s d", "⟨1/⟩x⟨2/⟩-y", "{b}x%s-y"),
        ("open %s now", "打开⟨1/⟩文件", "打开%s文件"),
    ],
)
def test_marks_are_apart_from_words_of_the_translation(
    text, translation, expected
):
    (masked,) = mask_text(text, ("KEY",))
    assert masked.unmasked(translation) == expected
    assert masked.unmasked(masked.text) == text


@pytest.mark.parametrize(
    ("text", "translation", "expected"),
    [
        # C reads conversions in order, whatever the order of the words.
        ("%s of %d", "⟨2/⟩ x ⟨1/⟩", "%s x %d"),
        ("<b>%s</b> of %d", "⟨3/⟩ x ⟨1⟩⟨2/⟩⟨/1⟩", "%s x <b>%d</b>"),
        ("{} {0} {:>9}", "⟨3/⟩⟨2/⟩⟨1/⟩", "{}{0}{:>9}"),
        ("%name% %USER% %d", "⟨3/⟩⟨2/⟩⟨1/⟩", "%d%USER%%name%"),
        ("%2$s %1 %(n)s %s", "⟨4/⟩⟨3/⟩⟨2/⟩⟨1/⟩", "%s%(n)s%1%2$s"),
        ("%#@n@ %#@m@", "⟨2/⟩⟨1/⟩", "%#@m@%#@n@"),
        ("{{#a}}b{{/a}}", "⟨2/⟩⟨1/⟩b", "{{#a}}{{/a}}b"),
        (
            "{% if a %}b{% endif %} %s",
            "⟨3/⟩⟨2/⟩⟨1/⟩b",
            "%s{% if a %}{% endif %}b",
        ),
        ("a</p><p>b", "⟨2/⟩a⟨1/⟩b", "</p>a<p>b"),
        ('<x id="1"/> of <img a>', "⟨2/⟩ x ⟨1/⟩", '<img a> x <x id="1"/>'),
    ],
)
def test_marks_that_are_read_in_order_keep_it(text, translation, expected):
    (masked,) = mask_text(text)
    assert masked.unmasked(translation) == expected


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("<p>a <b>c</b></p>", ("⟨1⟩", "a ⟨2⟩c⟨/2⟩", "⟨/1⟩")),
        ("<p><b>a</b></p>", ("⟨1⟩⟨2⟩", "a", "⟨/2⟩⟨/1⟩")),
        ("<p>a</p> <p>b</p>", ("", "⟨1⟩a⟨/1⟩ ⟨2⟩b⟨/2⟩", "")),
        ("%s a %s", ("", "⟨1/⟩ a ⟨2/⟩", "")),
        ("<p>a</p>.", ("", "⟨1⟩a⟨/1⟩.", "")),
        ("a", ("", "a", "")),
    ],
)
def test_pairs_around_all_are_unwrapped(text, parts):
    (masked,) = mask_marks(text, find_marks(text))
    assert masked.unwrapped() == parts
    assert masked.unmasked("".join(parts)) == text


@pytest.mark.parametrize(
    ("source", "translation", "alignment", "expected"),
    [
        (
            "Click <b>Save</b> now.",
            "Klicken Sie jetzt auf Speichern.",
            [0, 0, 2, 1, 1, 3],
            "Klicken Sie jetzt <b>auf Speichern</b>.",
        ),
        ("Open %s.", "Öffnen.", [0, 1], "Öffnen %s."),
        ("%s files", "Dateien", [0], "%s Dateien"),
        (
            "The file %s is open",
            "Die Datei ist offen",
            [0, 1, 2, 3],
            "Die Datei %s ist offen",
        ),
        ("<i>all of it</i>", "alles", [0], "<i>alles</i>"),
        ("a<br/>b", "x y", [0, 1], "x<br/> y"),
        ("Hi.<br/>Go on", "Na. Los", [0, 1, 2], "Na.<br/> Los"),
        ("(<br/>a)", "(x)", [0, 1, 2], "(<br/>x)"),
        ("<b></b>a", "x", [0], "<b></b>x"),
        (
            "Open <b>%s</b> now",
            "Jetzt öffnen",
            [1, 0],
            "<b>%s</b> Jetzt öffnen",
        ),
        (
            "<a>one <b>two</b></a> three",
            "drei zwei eins",
            [2, 1, 0],
            "drei <a><b>zwei</b> eins</a>",
        ),
        ("Open %s", "打开", [0], "打开%s"),
        ("<a><x/> <y/></a> a", "a", [0], "<a><x/> <y/></a> a"),
        (
            "<a><b> <x/> </b> <y/></a> a",
            "a",
            [0],
            "<a><b><x/></b> <y/></a> a",
        ),
        # Marks in a word that was copied.
        ("a H<b>2</b>O", "H2O b", [1, 0], "H<b>2</b>O b"),
        ("a H<b>2</b>O", "H3O b", [1, 0], "<b>H3O</b> b"),
        ("measures<x/> or", "oder Maße", [1, 0], "oder Maße<x/>"),
        # White space stays that it has in the source.
        ("Price: {0}", "Cena:", [0, 1], "Cena: {0}"),
        ("See it. %s", "Viz.", [0, 2], "Viz. %s"),
        ("{0} , a", ", b", [0, 1], "{0}, b"),
        ("a. %s", "二。", [0, 1], "二。%s"),
        ("一。 %s", "二。", [0, 1], "二。 %s"),
        ("Hi %s 😀 <br/> you", "Na 😀 du", [0, 1, 2], "Na %s 😀 <br/> du"),
        ("%s", "", [], "%s"),
        ("<b>x</b>", "", [], "<b></b>"),
    ],
)
def test_marks_are_placed(source, translation, alignment, expected):
    assert placed(source, translation, alignment) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Downloaded %d%% of the file",
        "cost {currency}{amount} per day",
        "line <br/><br/> next",
        "Use <x1/><x2/><i>{a}{b} now</i>",
        "({a}{b}) at {host}:{port}, %d%%",
        # So do the spaces between a mark and East Asian words.
        "在 %s 中打开 <x/>文件",
        "は {a} です😀 {b}",
    ],
)
def test_marks_that_touch_stay_together(text):
    words = spans(strip_marks(text, find_marks(text)).text)
    plain = strip_marks(text, find_marks(text)).text
    assert placed(text, plain, range(len(words))) == text


@pytest.mark.parametrize(
    ("source", "translation", "alignment", "expected"),
    [
        ("a<br/><br/>b", "x y", [0, 1], "x<br/><br/> y"),
        # C reads conversions in order, whatever groups they are in.
        ("%d%% a %s{x} b", "y x", [1, 0], "%d%% y %s{x} x"),
        ("{x}%d a %s b", "y x", [1, 0], "{x}%d y %s x"),
        (
            "{{#a}}%d a %s b {{/a}} c",
            "z y x",
            [2, 1, 0],
            "{{#a}}%d z %s y {{/a}} x",
        ),
    ],
)
def test_marks_that_touch_move_together(
    source, translation, alignment, expected
):
    assert placed(source, translation, alignment) == expected


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("<a>Home</a><a>About us</a><A>x</A>", "Home About us x"),
        ("<a><b>one</b></a><a><b>two</b></a>", "one two"),
        ("<b>One</b><i>Two</i>", "One Two"),
        ("<b>Hi.</b><br><br><i>go</i><br>on", "Hi. go on"),
        ("<b>H</b>ello <i>re</i><b>do</b>", "Hello redo"),
        ("<a>首页</a><a>关于</a>", "首页关于"),
        ("<a>one</a><a>, two</a>", "one, two"),
        ("on <b>.NET</b> and <i>../a</i>.", "on .NET and ../a."),
    ],
)
def test_words_are_apart_without_marks(text, plain):
    stripped = strip_marks(text, find_marks(text))
    assert stripped.text == plain
    words = spans(plain)
    again = place_marks(stripped, plain, words, words, range(len(words)))
    assert re.sub("<.*?>", "", again) == plain


@pytest.mark.parametrize("text", ["Hi %s, you", "السلام %s، عليكم", "वह %s।"])
def test_no_space_is_left_before_punctuation(text):
    plain = strip_marks(text, find_marks(text)).text
    assert plain == text.replace(" %s", "")


def test_no_tag_tears_a_word():
    text = "the <b>criteria</b> range %s of %d"
    stripped = strip_marks(text, find_marks(text))
    source = spans(stripped.text)
    tokens = token_spans(
        "Kriterien Bereich x", "▁Kri terien ▁Bereich x".split()
    )
    result = place_marks(
        stripped, "Kriterien Bereich x", source, tokens, [0, 1, 2, 3]
    )
    assert result == "<b>Kriterien</b> Bereich %s x %d"
    # The longest token of a word says where it comes from.
    result = place_marks(
        stripped, "Kriterien Bereich x", source, tokens, [1, 0, 2, 3]
    )
    assert result == "Kriterien <b></b> Bereich %s x %d"


@pytest.mark.parametrize(
    ("pieces", "alignment", "expected"),
    [
        ("▁अब ▁कोश िका ▁चु नें", [3, 2, 0, 0, 0], "अब <b>कोशिका</b> चुनें"),
        ("▁سلول \u200c ها ▁را", [2, 0, 0, 3], "<b>سلول\u200cها</b> را"),
        ("▁เลือก เซล ล ์ ตอนนี้", [0, 2, 2, 3, 3], "เลือก<b>เซลล์</b>ตอนนี้"),
    ],
)
def test_a_word_has_its_combining_marks(pieces, alignment, expected):
    text = "Select the <b>cell</b> now"
    stripped = strip_marks(text, find_marks(text))
    translation = "".join(pieces.split()).replace("▁", " ").strip()
    result = place_marks(
        stripped,
        translation,
        spans(stripped.text),
        token_spans(translation, pieces.split()),
        alignment,
    )
    assert result == expected


@pytest.mark.parametrize(
    ("source", "translation", "weights", "expected"),
    [
        # A word that stands for two, of which only one was chosen.
        (
            "the <b>Formula</b> bar",
            "Formelleiste",
            [[0.1, 0.4, 0.5]],
            "<b>{}</b>",
        ),
        ("the <b>Formula</b> bar", "Formelleiste", [[0.4, 0.05, 0.5]], "{}"),
        # The only word of a pair stays its.
        ("<i>a</i> <b>b</b>", "ab", [[0.6, 0.4]], "<i>{}</i>"),
        # One of several doesn't, and what is around loses nothing.
        ("<i>a b</i> <b>c</b>", "ab c", [[0.6, 0.3, 0.1], [0, 0.6, 0.4]], ""),
        ("<i>a <b>b</b></i>", "ab", [[0.6, 0.4]], "<i><b>{}</b></i>"),
    ],
)
def test_a_pair_takes_what_attends_to_it(
    source, translation, weights, expected
):
    alignment = [row.index(max(row)) for row in weights]
    result = placed(source, translation, alignment, weights)
    wanted = expected.format(translation) or "<i>ab</i> <b>c</b>"
    assert re.sub(" ?<(.)></.>", "", result).strip() == wanted


def test_a_placeholder_is_found_again_beside_a_letter():
    result = placed("(error %d).", "(Fehler kommen).", [0, 1, 2, 2, 3])
    assert result == "(Fehler %d kommen)."
    # Of very many, in linear time.
    alignment = [4 * n + k for n in range(2000) for k in (0, 1, 2, 2, 3)]
    begin = time.process_time()
    again = placed("(error %d). " * 2000, "(Fehler kommen). " * 2000, alignment)
    assert time.process_time() - begin < 5
    assert again.split() == result.split() * 2000


def test_very_many_pairs_are_filled_in_time():
    source, weights = "<b>a</b> <i>b</i> " * 1500, [[0.3, 0.2] * 1500] * 200
    begin = time.process_time()
    result = placed(source, "c " * 200, [0] * 200, weights)
    assert time.process_time() - begin < 5
    assert result.count("<b>") == 1500
    source = f"a {'<b>' * 2000}{'b ' * 1000}{'</b>' * 2000}"
    weights = [[1.0] + [0.0] * 1000] * 300
    begin = time.process_time()
    assert placed(source, "c " * 300, [0] * 300, weights).count("<b>") == 2000
    assert time.process_time() - begin < 5


def test_marks_may_be_in_each_other_to_any_depth():
    before, after = "<b>" * 1500, "</b>" * 1500
    result = placed(f"{before}one{after} two", "zwei eins", [1, 0])
    assert result.replace("<b>", "").replace("</b>", "") == "zwei eins"
    assert result.index("<b>") < result.index("eins")
    assert result.count("<b>") == result.count("</b>") == 1500


def tree(generator, words):
    """A random text with nested markup."""
    parts = []
    for _ in range(generator.randint(1, 4)):
        kind = generator.random()
        if kind < 0.5 or not words:
            parts.append(f"w{generator.randint(0, 99)}")
        elif kind < 0.7:
            parts.append(generator.choice(["{{y}}", "<br/>", "{x}"]))
        else:
            name = generator.choice("abi")
            parts.append(f"<{name}>{tree(generator, words - 1)}</{name}>")
    return generator.choice(["", " "]).join(parts)


def test_any_alignment_gives_well_formed_and_complete_markup():
    generator = random.Random(1)
    for _ in range(2000):
        source = tree(generator, 3)
        stripped = strip_marks(source, find_marks(source))
        translation = " ".join("xyzt"[: generator.randint(0, 4)])
        first, second = spans(stripped.text), spans(translation)
        if not first:
            second = []
        alignment = [generator.randrange(len(first)) for _ in second]
        weights = [[generator.random() for _ in first] for _ in second]
        result = place_marks(
            *(stripped, translation, first, second, alignment),
            generator.choice([weights, ()]),
        )
        marks = find_marks(result)
        texts = [result[m.start : m.end] for m in marks]
        assert sorted(texts) == sorted(stripped.marks)
        pairs = sum(m.partner != n for n, m in enumerate(marks))
        expected = sum(p != n for n, p in enumerate(stripped.partners))
        assert pairs == expected, (source, result)
        plain = strip_marks(result, marks).text.split()
        assert "".join(plain) == "".join(translation.split())


def test_tokens_are_found_in_a_text():
    text = "Die Datei ist größer."
    tokens = ["▁Die", "▁Dat", "ei", "▁ist", "▁gr", "<0xC3>", "ößer", "."]
    found = [text[s.start : s.end] for s in token_spans(text, tokens)]
    assert found == ["Die", "Dat", "ei", "ist", "gr", "", "ößer", "."]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Hi 😀 all", ["▁Hi", "▁", *4 * ["<0xF0>"], "▁all"]),
        ('He said "no" all', ["he", "said", "``", "no", "''", "all"]),
        ("cafe\u0301 for all", ["▁café", "▁for", "▁all"]),
        ("\ufeffone all", ["▁one", "▁all"]),
        ("體育場館 all", ["体", "育", "场", "馆", "▁all"]),
    ],
)
def test_tokens_after_what_is_not_in_a_text_are_found(text, tokens):
    span = token_spans(text, tokens)[-1]
    assert text[span.start : span.end] == "all"
