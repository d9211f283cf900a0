"""Subtitles: sentences over several cues, and what stays."""

import time

import pytest

from keras_transformer.errors import InputError
from tests.documents import conftest
from tests.documents.conftest import rewritten

SRT = """1
00:00:01,000 --> 00:00:02,500
<i>She said that</i>

2
00:00:02,600 --> 00:00:04,000
they would come
tomorrow.

3
00:00:05,000 --> 00:00:06,000
- Really?
- Yes.

4
00:00:07,000 --> 00:00:08,000
{\\an8}♪ La la

5
00:00:08,100 --> 00:00:09,000
[door]
"""


TIMES = "00:00:01,000 --> 00:00:02,000\n"
SECOND = "00:00:02,100 --> 00:00:03,000\n"


def read(tmp_path, content):
    name = "a.vtt" if content.startswith("WEBVTT") else "a.srt"
    return conftest.read(tmp_path, name, content)


def cues(*texts, between=0):
    """The content of a file of cues, some seconds apart."""
    return "\n\n".join(
        f"00:00:{n:02d},000 --> 00:00:{n:02d},900\n{text}"
        for n, text in zip(range(0, 60, 1 + between), texts, strict=False)
    )


def test_a_sentence_over_cues_is_one_text(tmp_path):
    texts = read(tmp_path, SRT).texts
    assert texts == [
        "She said that they would come tomorrow.",
        "Really?",
        "Yes.",
        "♪ La la",
        "[door]",
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("<i>Hello</i> world", "<i>HELLO WORLD</i>"),
        ("Hello <b>my <i>world</i></b>", "<b><i>HELLO MY WORLD</i></b>"),
        ("<i>Hello</i>", "<i>HELLO</i>"),
        ("<i>Hello</i> and <b>you</b>", "<i><b>HELLO AND YOU</b></i>"),
        (
            "<i>A <b>b</b></i> and <i>c</i>",
            "<i><b><i>A B AND C</i></b></i>",
        ),
        ("If x < 3 and y > 2", "IF X < 3 AND Y > 2"),
        ("Hello<br>there", "HELLO THERE"),
        ("Hello\\Nthere", "HELLO THERE"),
        ("<i>- A one.\n- A two.</i>", "<i>- A ONE.\n- A TWO.</i>"),
        ("<i>- One.</i>\n<i>- Two.</i>", "<i>- ONE.</i>\n<i>- TWO.</i>"),
        ("{\\an8}- Who?\n- Me.", "{\\an8}- WHO?\n- ME."),
        ("Who's there?\n- It's me.", "WHO'S THERE?\n- IT'S ME."),
        ("- Are you\nready?\n- Not yet.", "- ARE YOU READY?\n- NOT YET."),
        ("<i>Ready?\n- no, I\nam not.</i>", "<i>READY?\n- NO, I AM NOT.</i>"),
        ("A: Is it\nready?\nB: Not yet", "A: IS IT READY?\nB: NOT YET"),
        ("I\n>> am\nhere\n>> too", "I\n>> AM HERE\n>> TOO"),
        ("We left\n- at last -\nfor home.", "WE LEFT - AT LAST - FOR HOME."),
        ("It is about\n-5 degrees.", "IT IS ABOUT -5 DEGREES."),
        ("谁\n-我", "谁\n-我"),
        ("－谁\n－我", "－谁\n－我"),
        ("- {\\an8}Hello you", "{\\an8}- HELLO YOU"),
        ("\u202b{\\an8}نعم\u202c", "{\\an8}\u202bنعم\u202c"),
        (
            "\u202b- كيف؟\u202c\n\u202b- بخير.\u202c",
            "- \u202bكيف؟\u202c\n- \u202bبخير.\u202c",
        ),
        ("\u200f- لا\n\u200f- نعم", "- \u200fلا\n- \u200fنعم"),
        ("（太郎）どこ\n（花子）家", "（太郎）どこ\n（花子）家"),
        ("МАША: Кто\nИВАН: Да", "МАША: КТО\nИВАН: ДА"),
        ("<v Ann>Hi.</v>\n<v Bob>Ho.</v>", "<v Ann>HI.</v>\n<v Bob>HO.</v>"),
        ("<v Ann>Hi</v> <v Bob>Yo</v>", "<v Ann>HI</v>\n<v Bob>YO</v>"),
        ("<v Ann>Hi\nthere <v Bob>Yo", "<v Ann>HI THERE\n<v Bob>YO"),
        (
            '<font color="yellow">Where\nare you?</font>\n'
            '{\\an8}<i><font color="cyan">Home.</font></i>',
            '<font color="yellow">WHERE ARE YOU?</font>\n'
            '{\\an8}<i><font color="cyan">HOME.</font></i>',
        ),
        ("<c.x>Hi\nyou!\n- Yo</c>", "<c.x>HI YOU!\n- YO</c>"),
        ("<c.x>Hi</c>\n<c.y>Yo</c>", "<c.x>HI</c>\n<c.y>YO</c>"),
        ("<c.x>A</c>\n<c.x>b</c>", "<c.x><c.x>A B</c></c>"),
        ("<c.x>A</c>\n<c.y>b</c> c", "<c.x><c.y>A B C</c></c>"),
    ],
)
def test_no_half_of_a_pair_of_tags_stays(tmp_path, line, expected):
    document = read(tmp_path, f"{TIMES}{line}\n")
    texts = [text.upper() for text in document.texts]
    content = rewritten(document, texts)
    assert content == f"{TIMES}{expected}\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_what_is_not_text_stays(tmp_path, newline, mark):
    content = mark + SRT.replace("\n", newline)
    document = read(tmp_path, content)
    translated = rewritten(
        document,
        ["Sie sagte, dass sie morgen kommen.", "Ja?", "Ja.", "♪ Lo", "[Tür]"],
    )
    expected = (
        SRT.replace("She said that", "Sie sagte,")
        .replace("they would come\ntomorrow.", "dass sie morgen kommen.")
        .replace("Really?", "Ja?")
        .replace("Yes.", "Ja.")
        .replace("La la", "Lo")
        .replace("[door]", "[Tür]")
    )
    assert translated == mark + expected.replace("\n", newline)


@pytest.mark.parametrize(
    ("content", "texts", "again"),
    [
        # A time code begins a cue without a blank line before.
        (
            f"1\n{TIMES}One.\n2\n{SECOND}Two.\n{SECOND}{SECOND}3\nThree.",
            ["One.", "Two.", "3 Three."],
            f"1\n{TIMES}One.\n2\n{SECOND}Two.\n{SECOND}{SECOND}3 Three.",
        ),
        (
            "WEBVTT - a film\n\nSTYLE\n::cue { color: red }\n\nNOTE a note\n\n"
            "intro\n00:01.000 --> 00:02.000 line:0 align:start\n<v Ann>Hello."
            "\n\n00:03.000 --> 00:04.000\nBye.\n",
            ["Hello.", "Bye."],
            None,
        ),
        (
            f"WEBVTT\n\n{TIMES}&gt;&gt; A &amp; B&nbsp;like\nR&amp;D &lt;3",
            ["A & B like R&D <3"],
            f"WEBVTT\n\n{TIMES}&gt;&gt; A &amp; B like R&amp;D &lt;3",
        ),
        # A line of spaces ends no cue of WebVTT.
        (
            f"WEBVTT\n\n{TIMES} \nhello<00:00:00.480><c> and</c>"
            "<00:00:00.640><c> welcome</c>\n",
            ["hello and welcome"],
            f"WEBVTT\n\n{TIMES}<c><c>hello and welcome</c></c>\n",
        ),
        # No translation has a reading.
        (
            f"WEBVTT\n\n{TIMES}<ruby>東<rp>(<rt>とう</rt><rp>)</rp>京<rt>"
            "きょう</ruby>に行く。",
            ["東京に行く。"],
            f"WEBVTT\n\n{TIMES}東京に行く。",
        ),
        # Korean has spaces.
        (
            f"1\n{TIMES}나는 오늘 아침에\n\n2\n{SECOND}학교에 갔다.\n",
            ["나는 오늘 아침에 학교에 갔다."],
            None,
        ),
        # Cues far apart are apart.
        (cues(*["and then"] * 3, between=3), ["and then"] * 3, None),
        # One speaker in one colour.
        (
            cues("<c.a>I</c>", "<c.a>am</c>\n<c.a>so</c>"),
            ["I am so"],
            cues("<c.a>I</c>", "<c.a><c.a>am so</c></c>"),
        ),
        # Cues at different places are apart.
        (
            cues("- {\\an8}Who", "am I"),
            ["Who", "am I"],
            cues("{\\an8}- Who", "am I"),
        ),
        (
            f"{TIMES[:-1]} line:0\nand\n\n{SECOND[:-1]} line:9\nthen\n",
            ["and", "then"],
            None,
        ),
    ],
)
def test_what_is_around_a_text_stays(tmp_path, content, texts, again):
    document = read(tmp_path, content)
    assert document.texts == texts
    assert rewritten(document, texts) == (again or content)


@pytest.mark.parametrize(
    ("lines", "texts"),
    [
        (
            ["[APPLAUSE]", "(music)", "Go on"],
            ["[APPLAUSE]", "(music)", "Go on"],
        ),
        (
            ["（音）", "［声］", "【鈴】", "はい"],
            ["（音）", "［声］", "【鈴】", "はい"],
        ),
        (["\u202b[ضحك]\u202c", "نعم"], ["\u202b[ضحك]\u202c", "نعم"]),
        (["(sighs) I don't", "know"], ["(sighs) I don't know"]),
        (
            ["JOHN: I don't\nknow", "MARY: Me", "neither."],
            ["I don't know", "Me neither."],
        ),
        (["DR. NO: Come\nANN: Why"], ["Come", "Why"]),
        (["MAN (on phone): I am\nJOHN [V.O.]: Who"], ["I am", "Who"]),
        (["[MAN 2]: I am", "(ANN): Who", "we are"], ["I am", "Who we are"]),
        (
            ["We\n<i>[MUSIC]</i>", "are\n(door)\nso [we]\nsay"],
            ["We", "[MUSIC]", "are", "(door)", "so [we] say"],
        ),
        (["Tell\nme", "who.\n- It", "is me"], ["Tell me who.", "It is me"]),
        (["and it is", "5:30 now"], ["and it is 5:30 now"]),
        (["<v Ann>Where", "<v Bob>at", "<v Bob>home"], ["Where", "at home"]),
        (["<c.a>Where</c>", "<c.b>home</c>"], ["Where", "home"]),
        (["{\\an8}Where", "are", "{\\i1}you"], ["Where", "are you"]),
        (["{\\pos(1,2)}I", "{\\pos(1,3)}am"], ["I", "am"]),
        (["THE END:", "IT IS"], ["THE END: IT IS"]),
        ([">> HERE IS", ">> THANK YOU"], ["HERE IS", "THANK YOU"]),
    ],
)
def test_sounds_and_speakers_begin_a_text(tmp_path, lines, texts):
    content = cues(*lines)
    document = read(tmp_path, content)
    assert document.texts == texts
    again = rewritten(document, texts)
    assert again.split() == content.split()


@pytest.mark.parametrize(
    "end",
    [
        *("میں۔", "ես։", "ነው።", "တယ်။", "គាត់។", "གས།", "གས༎", "ｿｳ｡", "Πού;"),
        *("What‼", "„Ich.“", "»Ich.«", "‚Ich.‘", "« Oui. »"),
        *("نص.\u202c", "نعم\u200f.\u200f"),
    ],
)
def test_a_stop_of_any_script_ends_a_text(tmp_path, end):
    assert read(tmp_path, cues(end, end)).texts == [end, end]


CHINESE = ["好啊，", "我们去公园吧", "几点走", "三点", "Tom 和", "可以"]


@pytest.mark.parametrize(
    ("ends", "count"), [([""] * 6, 5), (["", "", "", "", "", "。"], 1)]
)
def test_cues_of_chinese_without_full_stops_are_apart(tmp_path, ends, count):
    lines = map("".join, zip(CHINESE, ends, strict=True))
    texts = read(tmp_path, cues(*lines)).texts
    assert len(texts) == count
    assert texts[0].startswith("好啊，我们去公园吧")


@pytest.mark.parametrize(
    ("content", "count"),
    [
        (f"1\n{TIMES}\nHello.\n\nEzekiel.\n", 2),
        (f"1\n{TIMES}Hello.\n\nSecond part.\n", 1),
        (f"1\n{TIMES}One.\n\n2\n00:00:03, 000 --> 00:00:04, 000\nTwo.\n", 2),
        (f"1\n{TIMES}\n\n2\n{TIMES}Two.\n", 0),
        (f"WEBVTT\n\nNOTE a note\n\nname\n{TIMES}Two.\n", 0),
    ],
)
def test_text_without_a_time_code_is_counted(tmp_path, content, count):
    skipped = read(tmp_path, content).skipped
    assert skipped == ({"without a time code": count} if count else {})


def test_a_sentence_goes_over_few_cues(tmp_path):
    document = read(tmp_path, cues(*[f"word{n}" for n in range(30)]))
    assert [text.count(" ") + 1 for text in document.texts] == [8, 8, 8, 6]


def test_no_cue_of_a_sentence_is_left_empty(tmp_path):
    lines = "a", "sentence of many words", "goes on and", "on."
    document = read(tmp_path, cues(*lines))
    parts = rewritten(document, ["So kurz ist es."]).split("\n\n")
    words = [part.split("\n")[1] for part in parts]
    assert words == ["So", "kurz", "ist", "es."]


@pytest.mark.parametrize(
    ("text", "count", "widest"),
    [
        (
            "a translation that is much longer than one line of subtitles has",
            2,
            42,
        ),
        # An address may be wider than a line.
        (
            "more of all this is to be found at https://x.org/"
            f"{'a' * 40} and elsewhere",
            4,
            54,
        ),
    ],
)
def test_long_translations_are_wrapped(tmp_path, text, count, widest):
    document = read(tmp_path, "00:01,0 --> 00:02,0\nshort\n")
    lines = rewritten(document, [text]).splitlines()[1:]
    assert len(lines) <= count
    assert " ".join(lines) == text
    assert max(map(len, lines)) <= widest


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Que voulez-vous ?", ["Que", "voulez-vous ?"]),
        ("Que voulez-vous\xa0? »", ["Que", "voulez-vous\xa0? »"]),
        ("他にも、ちゃ", ["他にも、", "ちゃ"]),
        ("他にちゃ", ["他に", "ちゃ"]),
        ("このスキー", ["このス", "キー"]),
    ],
)
def test_no_line_begins_with_a_stop(tmp_path, text, parts):
    document = read(tmp_path, cues("sentence", "is"))
    lines = rewritten(document, [text]).splitlines()
    assert lines[1::3] == parts


@pytest.mark.parametrize("word", ["word ", "東京都", "incomprehensibilities "])
def test_a_long_cue_takes_no_quadratic_time(tmp_path, word):
    text = (word * (40_000 // len(word))).strip()
    document = read(tmp_path, f"{TIMES}{text}\n")
    began = time.process_time()
    lines = rewritten(document, document.texts).splitlines()[1:]
    assert time.process_time() - began < 2
    assert (" " if " " in word else "").join(lines) == text
    assert max(map(len, lines)) <= 42


def test_chinese_is_laid_out_by_characters(tmp_path):
    document = read(tmp_path, SRT)
    texts = ["她说他们明天会来。", "真的吗？", "是的。", "♪ 啦", "[门]"]
    lines = rewritten(document, texts).splitlines()
    first, second = lines[2], lines[6]
    assert first.removeprefix("<i>").removesuffix("</i>") + second == texts[0]
    assert "<i>" in first
    assert abs(len(first) - 7 - len(second)) <= 5


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"no codes\n", "no time code"),
        (b"", "no time code"),
        (b"1\n00:01,0 --> 00:02,0\n\xff\n", "line 3: not UTF-8"),
    ],
)
def test_damaged_files_are_refused(tmp_path, content, says):
    with pytest.raises(InputError, match=says):
        conftest.read(tmp_path, "a.srt", content)
