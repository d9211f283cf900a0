"""Languages: their tags, and the scripts that they are written in.

Scripts go by the first word of their characters' Unicode names: "LATIN",
"CYRILLIC", "HAN" (for CJK ideographs), "KANA" (hiragana and katakana) ...
The standard library knows names, but not the Unicode property itself.

References: Unicode Standard Annex 24; ISO 15924 for subtags such as "Cyrl".
"""

import functools
import itertools
import unicodedata
from collections.abc import Iterable

_CHINESE = ("zh", "zho", "chi", "cmn", "yue", "lzh", "wuu")
_TRADITIONAL_REGIONS = {"tw", "hk", "mo"}
_JAPANESE = ("ja", "jpn")
_KOREAN = ("ko", "kor")
_ENGLISH = ("en", "eng")

# ISO 639 codes; a language of several scripts stands in each of their lines.
_LANGUAGES_OF_SCRIPT = {
    "LATIN": (
        "en eng af afr ast az aze bs bos br bre ca cat ceb co cos cs "
        "ces cze cy cym wel da dan de deu ger eo epo es spa et est eu eus baq "
        "fi fin fil fo fao fr fra fre fy fry ga gle gd gla gl glg ha hau haw "
        "hr hrv ht hat hu hun id ind ig ibo is isl ice it ita jv jav kab ku "
        "kmr kur la lat lb ltz lt lit lv lav mg mlg mi mri mao ms msa may zsm "
        "mt mlt nb nob nds nl nld dut nn nno no nor ny nya oc oci pl pol pt "
        "por qu que rm roh ro ron rum rw kin sk slk slo sl slv sm smo sn sna "
        "so som sq sqi alb sr srp st sot su sun sv swe sw swa swh tk tuk tl "
        "tgl tok tr tur uz uzb vi vie vo vol wo wol xh xho yo yor zu zul"
    ),
    "CYRILLIC": (
        "ru rus uk ukr be bel bg bul mk mkd mac sr srp kk kaz ky kir mn mon "
        "tg tgk tt tat ba bak cv chv ce che os oss sah uz uzb"
    ),
    "ARABIC": (
        "ar ara arb ary arz fa fas per pes ur urd ps pus sd snd ug uig ckb pa "
        "ku kur"
    ),
    "HEBREW": "he heb iw yi yid",
    "GREEK": "el ell gre grc",
    "ARMENIAN": "hy hye arm",
    "GEORGIAN": "ka kat geo",
    "DEVANAGARI": "hi hin mr mar ne nep npi sa san bho mai sd snd",
    "BENGALI": "bn ben as asm",
    "GURMUKHI": "pa pan",
    "GUJARATI": "gu guj",
    "ORIYA": "or ori ory",
    "TAMIL": "ta tam",
    "TELUGU": "te tel",
    "KANNADA": "kn kan",
    "MALAYALAM": "ml mal",
    "SINHALA": "si sin",
    "THAI": "th tha",
    "LAO": "lo lao",
    "KHMER": "km khm",
    "MYANMAR": "my mya bur",
    "TIBETAN": "bo bod tib dz dzo",
    "ETHIOPIC": "am amh ti tir",
    "HANGUL": "ko kor",
    "HAN": "zh zho chi cmn yue lzh wuu ja jpn",
    "KANA": "ja jpn",
}
_SUBTAGS = {
    "latn": "LATIN",
    "cyrl": "CYRILLIC",
    "arab": "ARABIC",
    "hebr": "HEBREW",
    "grek": "GREEK",
    "deva": "DEVANAGARI",
    "guru": "GURMUKHI",
    "hang": "HANGUL",
    "hani": "HAN",
    "hans": "HAN",
    "hant": "HAN",
}
_FIRST_WORDS = {
    "CJK": "HAN",
    "IDEOGRAPHIC": "HAN",
    "HIRAGANA": "KANA",
    "KATAKANA": "KANA",
    "KATAKANA-HIRAGANA": "KANA",
    # Of no script: accents by themselves, letters that modify others.
    "COMBINING": None,
    "MODIFIER": None,
    "VARIATION": None,  # of emoji
}
# English names, with their codes.
_NAMES = (
    "afrikaans af albanian sq arabic ar armenian hy azerbaijani az basque eu "
    "belarusian be bengali bn bulgarian bg burmese my catalan ca chinese zh "
    "croatian hr czech cs danish da dutch nl english en esperanto eo estonian "
    "et finnish fi french fr galician gl georgian ka german de greek el "
    "gujarati gu hebrew he hindi hi hungarian hu icelandic is indonesian id "
    "irish ga italian it japanese ja kazakh kk khmer km korean ko latin la "
    "latvian lv lithuanian lt macedonian mk malay ms maltese mt mandarin zh "
    "marathi mr mongolian mn nepali ne norwegian no persian fa polish pl "
    "portuguese pt romanian ro russian ru serbian sr slovak sk slovenian sl "
    "spanish es swahili sw swedish sv tamil ta telugu te thai th turkish tr "
    "ukrainian uk urdu ur uzbek uz vietnamese vi welsh cy"
).split()
_CODES = dict(zip(_NAMES[::2], _NAMES[1::2], strict=True))
# Scripts of which one character says about as much as a word.
_WORDLIKE = {"HAN", "KANA", "HANGUL"}


def base_language(tag: str) -> str:
    """The language of a tag, in lower case: "pt" for "pt-BR" or "pt_BR"."""
    return tag.strip().lower().replace("_", "-").split("-")[0]


def is_tag(tag: str) -> bool:
    """Whether it looks like a language tag: "en", "nds", "zh_Hant", not a
    language's name.
    """
    base = base_language(tag)
    return base.isascii() and base.isalpha() and len(base) in (2, 3)


def code_of_name(name: str) -> str | None:
    """The code of a language that is named in English, if it is known."""
    return _CODES.get(name.strip().lower())


def is_chinese(tag: str) -> bool:
    """Whether a tag is Chinese: "zh", "zh-TW", "zh_Hans", "cmn", ..."""
    return base_language(tag) in _CHINESE


def is_simplified_chinese(tag: str) -> bool:
    """Whether a tag is Chinese that is written in simplified characters.

    A script in the tag decides ("zh-Hant"), then a region ("zh-TW"), then the
    language: Cantonese ("yue") is written in traditional ones.
    """
    language, *subtags = tag.strip().lower().replace("_", "-").split("-")
    if language not in _CHINESE:
        return False
    if "hans" in subtags or "hant" in subtags:
        return "hans" in subtags
    if not _TRADITIONAL_REGIONS.isdisjoint(subtags):
        return False
    return language != "yue" or "cn" in subtags


def same_language(one: str, other: str) -> bool:
    """Whether two tags are of one language, of whatever region or script."""
    bases = {base_language(one), base_language(other)}
    known = (_CHINESE, _JAPANESE, _ENGLISH)
    return len(bases) == 1 or any(bases <= {*codes} for codes in known)


def tag_of_language(tags: Iterable[str], language: str) -> str | None:
    """The tag of a language: the same one, or the first of a variant."""
    tags = list(tags)
    if language in tags:
        return language
    return next((tag for tag in tags if same_language(tag, language)), None)


def is_japanese(tag: str) -> bool:
    """Whether a tag is Japanese."""
    return base_language(tag) in _JAPANESE


def is_korean(tag: str) -> bool:
    """Whether a tag is Korean."""
    return base_language(tag) in _KOREAN


def is_english(tag: str) -> bool:
    """Whether a tag is English."""
    return base_language(tag) in _ENGLISH


def scripts_of_language(tag: str) -> frozenset[str]:
    """The scripts that a language is written in.

    Args:
        tag: "en", "eng", "pt-BR", or with a script of its own, "sr-Latn".

    Returns:
        Names of scripts; none for a language or script that isn't known
        here.
    """
    _, *subtags = tag.strip().lower().replace("_", "-").split("-")
    for subtag in subtags:
        if len(subtag) == 4 and subtag.isalpha():
            return frozenset(filter(None, [_SUBTAGS.get(subtag)]))
    language = base_language(tag)
    return frozenset(
        script
        for script, languages in _LANGUAGES_OF_SCRIPT.items()
        if language in languages.split()
    )


@functools.lru_cache(maxsize=1 << 16)
def script_of_character(character: str) -> str | None:
    """The script of a letter or of its marks; None for all else."""
    # Full-width Latin is Latin, and a micro sign Greek.
    character = unicodedata.normalize("NFKC", character)[:1]
    if unicodedata.category(character)[0] not in "LM":
        return None
    first = unicodedata.name(character, "").split(" ")[0]
    return _FIRST_WORDS.get(first, first) or None


def fraction_in_scripts(text: str, scripts: frozenset[str]) -> float | None:
    """How much of a text is written in some scripts.

    Counted in words, so that a long foreign name in a short sentence weighs
    no more than it says: a run of letters of one script is a word, and so is
    each single Chinese, Japanese or Korean character.

    Returns:
        The fraction, 0 to 1; None for a text without letters.
    """
    words = own = 0
    for script, run in itertools.groupby(text, script_of_character):
        if script is None:
            continue
        count = sum(1 for _ in run) if script in _WORDLIKE else 1
        words += count
        own += count if script in scripts else 0
    return own / words if words else None
