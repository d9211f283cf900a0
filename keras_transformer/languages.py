"""Languages: their tags, and the scripts that they are written in.

A script is named by the first word of its characters' Unicode names: "LATIN",
"CYRILLIC", "HAN" (for CJK ideographs), "KANA" (hiragana and katakana) ...
The standard library has the names, but not Unicode's script property.

References: Unicode Standard Annex 24; ISO 15924 for subtags such as "Cyrl".
"""

import functools
import itertools
import unicodedata
from collections.abc import Iterable

_CHINESE = "zh yue lzh wuu nan hak gan cdo hsn"
# Regions and languages that write Chinese in traditional characters.
_TRADITIONAL = {"tw", "hk", "mo", "yue", "nan", "hak", "cdo"}

# ISO 639-1 codes, each followed by the language's codes in ISO 639-2 and 639-3,
# and by a country code that is taken for it ("jp") if no other language has it.
_SAME = (
    "af afr; am amh; ar ara arb ary arz; as asm; az aze azj; ba bak; be bel; "
    "bg bul; bn ben; bo bod tib; br bre; bs bos; ca cat; ce che; co cos; cs "
    "ces cze cz; cv chv; cy cym wel; da dan dk; de deu ger; dz dzo; el ell "
    "gre gr; en eng; eo epo; es spa; et est ekk; eu eus baq; fa fas per pes; "
    "fi fin; fo fao; fr fra fre; fy fry; ga gle; gd gla; gl glg; gu guj; ha "
    "hau; he heb iw; hi hin; hr hrv; ht hat; hu hun; hy hye arm; id ind; ig "
    "ibo; is isl ice; it ita; ja jpn jp; jv jav; ka kat geo; kk kaz; km khm; "
    "kn kan; ko kor; ku kur kmr; ky kir; la lat; lb ltz; lo lao; lt lit; lv "
    "lav lvs; mg mlg plt; mi mri mao; mk mkd mac; ml mal; mn mon khk; mr mar; "
    "ms msa may zsm; mt mlt; my mya bur; ne nep npi; nl nld dut; nn nno; no "
    "nor nb nob; ny nya; oc oci; or ori ory; os oss; pa pan; pl pol; ps pus "
    "pbt; pt por; qu que quy; rm roh; ro ron rum; ru rus; rw kin; sa san; sd "
    "snd; si sin; sk slk slo; sl slv; sm smo; sn sna; so som; sq sqi alb als; "
    "sr srp; st sot; su sun; sv swe; sw swa swh; ta tam; te tel; tg tgk; th "
    "tha; ti tir; tk tuk; tl tgl fil; tr tur; tt tat; ug uig; uk ukr ua; ur "
    "urd; uz uzb uzn; vi vie; vo vol; wo wol; xh xho; yi yid ydd; yo yor; zh "
    "zho chi cmn cn; zu zul"
)
_TWO_LETTERS = {
    code: codes.split()[0]
    for codes in _SAME.split(";")
    for code in codes.split()
}
# A language with several scripts is listed under each of them.
_LANGUAGES_OF_SCRIPT = {
    "LATIN": (
        "en aa af ak an ast ay az bi bm br bs ca cdo ceb ch co cs cy da de ee "
        "eo es et eu ff fi fil fj fo fr fy ga gd gl gn gv ha hak haw ho hr ht "
        "hu hz ia id ie ig ik io is it jv kab kg ki kj kl kr ku kw la lb lg li "
        "ln lt lu lv mg mh mi ms mt na nan nb nd nds ng nl nn no nr nv ny oc "
        "oj om pl pt qu rm rn ro rw sc se sg sk sl sm sn so sq sr ss st su sv "
        "sw tk tl tn to tok tr ts tw ty uz ve vi vo wa wo xh yo za zu"
    ),
    "CYRILLIC": (
        "ru uk ab av ba be bg ce cu cv kk kv ky mk mn os sah sr tg tt uz"
    ),
    "ARABIC": "ar fa ur ps sd ug ckb ks pa ku",
    "THAANA": "dv",
    "HEBREW": "he yi",
    "GREEK": "el grc",
    "ARMENIAN": "hy",
    "GEORGIAN": "ka",
    "DEVANAGARI": "hi mr ne sa bho mai sd",
    "BENGALI": "bn as",
    "GURMUKHI": "pa",
    "GUJARATI": "gu",
    "ORIYA": "or",
    "TAMIL": "ta",
    "TELUGU": "te",
    "KANNADA": "kn",
    "MALAYALAM": "ml",
    "SINHALA": "si",
    "THAI": "th",
    "LAO": "lo",
    "KHMER": "km",
    "MYANMAR": "my",
    "TIBETAN": "bo dz",
    "ETHIOPIC": "am ti",
    "HANGUL": "ko",
    "HAN": f"{_CHINESE} ja",
    "KANA": "ja",
}
# ISO 15924 codes. A code that isn't listed, as in `en-Zsye`, has no script.
_SCRIPT_SUBTAGS = {
    "latn": ("LATIN",),
    "cyrl": ("CYRILLIC",),
    "arab": ("ARABIC",),
    "hebr": ("HEBREW",),
    "grek": ("GREEK",),
    "armn": ("ARMENIAN",),
    "geor": ("GEORGIAN",),
    "deva": ("DEVANAGARI",),
    "beng": ("BENGALI",),
    "guru": ("GURMUKHI",),
    "gujr": ("GUJARATI",),
    "orya": ("ORIYA",),
    "taml": ("TAMIL",),
    "telu": ("TELUGU",),
    "knda": ("KANNADA",),
    "mlym": ("MALAYALAM",),
    "sinh": ("SINHALA",),
    "thai": ("THAI",),
    "laoo": ("LAO",),
    "khmr": ("KHMER",),
    "mymr": ("MYANMAR",),
    "tibt": ("TIBETAN",),
    "ethi": ("ETHIOPIC",),
    "hang": ("HANGUL",),
    "kore": ("HANGUL",),
    "hani": ("HAN",),
    "hans": ("HAN",),
    "hant": ("HAN",),
    "hira": ("KANA",),
    "kana": ("KANA",),
    "hrkt": ("KANA",),
    "jpan": ("HAN", "KANA"),
}
# Scripts at the end of the names of locales, as in "sr@latin".
_MODIFIERS = {
    "latin": ("latn",),
    "cyrillic": ("cyrl",),
    "devanagari": ("deva",),
}
_FIRST_WORDS = {
    "CJK": "HAN",
    "IDEOGRAPHIC": "HAN",
    "HIRAGANA": "KANA",
    "KATAKANA": "KANA",
    "KATAKANA-HIRAGANA": "KANA",
    # Without a script: combining accents, modifier letters.
    "COMBINING": None,
    "MODIFIER": None,
    "VARIATION": None,  # of emoji
}
# English names of languages, each followed by its code.
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
# Scripts in which a character carries about as much meaning as a word.
_WORDLIKE = {"HAN", "KANA", "HANGUL"}


def base_language(tag: str) -> str:
    """The language of a tag: "pt" for "pt-BR", "pt_BR" or "por_Latn"."""
    language = _subtags(tag)[0]
    return _TWO_LETTERS.get(language, language)


def _subtags(tag):
    """A tag's parts: the language's code, then script, region and others.

    It may be the name of a locale, as in .po files: "sr_RS@latin".
    """
    tag, _, modifier = tag.strip().lower().partition("@")
    code, *others = tag.replace("_", "-").split("-")
    return [code, *_MODIFIERS.get(modifier, ()), *others]


def is_tag(tag: str) -> bool:
    """True if it looks like a language tag ("en", "nds", "zh_Hant"), not a name
    of a language.
    """
    base = base_language(tag)
    return base.isascii() and base.isalpha() and len(base) in (2, 3)


def code_of_name(name: str) -> str | None:
    """The code for the English name of a language; None if it is unknown."""
    return _CODES.get(name.strip().lower())


def is_chinese(tag: str) -> bool:
    """True if a tag is Chinese in Chinese characters: "zh", "zh-TW", "yue"."""
    chinese = base_language(tag) in _CHINESE.split()
    return chinese and "HAN" in scripts_of_language(tag)


def is_simplified_chinese(tag: str) -> bool:
    """True if a tag is Chinese that is written in simplified characters.

    A script in the tag decides ("zh-Hant"), then a region ("zh-TW"), then the
    language: Cantonese ("yue") is written in traditional characters.
    """
    if not is_chinese(tag):
        return False
    language, *subtags = _subtags(tag)
    if "hans" in subtags or "hant" in subtags:
        return "hans" in subtags
    return "cn" in subtags or _TRADITIONAL.isdisjoint({language, *subtags})


def same_language(one: str, other: str) -> bool:
    """True if two tags are of one language, whatever their region or script."""
    bases = {base_language(one), base_language(other)}
    return len(bases) == 1 or (is_chinese(one) and is_chinese(other))


def tag_of_language(tags: Iterable[str], language: str) -> str | None:
    """The best match for a language among tags, or None.

    In order of preference: the same tag, one with the same script, any tag of
    the language.
    """

    def script(tag):
        return scripts_of_language(tag), is_simplified_chinese(tag)

    return min(
        (tag for tag in tags if same_language(tag, language)),
        key=lambda tag: (
            _subtags(tag) != _subtags(language),
            script(tag) != script(language),
        ),
        default=None,
    )


def is_japanese(tag: str) -> bool:
    """True if a tag is Japanese."""
    return base_language(tag) == "ja"


def is_korean(tag: str) -> bool:
    """True if a tag is Korean."""
    return base_language(tag) == "ko"


def is_english(tag: str) -> bool:
    """True if a tag is English."""
    return base_language(tag) == "en"


def scripts_of_language(tag: str) -> frozenset[str]:
    """The scripts that a language is written in.

    Args:
        tag: "en", "eng", "pt-BR", or with an explicit script, "sr-Latn".

    Returns:
        Names of scripts; empty for an unknown language or script.
    """
    _, *subtags = _subtags(tag)
    for subtag in subtags:
        if len(subtag) == 4 and subtag.isalpha():
            return frozenset(_SCRIPT_SUBTAGS.get(subtag, ()))
    language = base_language(tag)
    return frozenset(
        script
        for script, languages in _LANGUAGES_OF_SCRIPT.items()
        if language in languages.split()
    )


@functools.lru_cache(maxsize=1 << 16)
def script_of_character(character: str) -> str | None:
    """The script of a letter or combining mark; None for other characters."""
    # NFKC maps full-width Latin to Latin, and the micro sign to Greek.
    character = unicodedata.normalize("NFKC", character)[:1]
    if unicodedata.category(character)[0] not in "LM":
        return None
    first = unicodedata.name(character, "").split(" ")[0]
    return _FIRST_WORDS.get(first, first) or None


def fraction_in_scripts(text: str, scripts: frozenset[str]) -> float | None:
    """The fraction of a text's words that are written in some scripts.

    Words rather than characters are counted, so that a long foreign name
    doesn't dominate a short sentence: a run of letters of one script is a word,
    and so is each single Chinese, Japanese or Korean character.

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
