"""Language tags, as far as text and scores depend on them."""

_CHINESE = ("zh", "zho", "chi", "cmn", "yue", "lzh", "wuu")
_JAPANESE = ("ja", "jpn")
_ENGLISH = ("en", "eng")


def base_language(tag: str) -> str:
    """The language of a tag, in lower case: "pt" for "pt-BR" or "pt_BR"."""
    return tag.strip().lower().replace("_", "-").split("-")[0]


def is_tag(tag: str) -> bool:
    """Whether it looks like a language tag: "en", "nds", "zh_Hant", not a
    language's name.
    """
    base = base_language(tag)
    return base.isascii() and base.isalpha() and len(base) in (2, 3)


def is_chinese(tag: str) -> bool:
    """Whether a tag is Chinese: "zh", "zh-TW", "zh_Hans", "cmn", ..."""
    return base_language(tag) in _CHINESE


def is_japanese(tag: str) -> bool:
    """Whether a tag is Japanese."""
    return base_language(tag) in _JAPANESE


def is_english(tag: str) -> bool:
    """Whether a tag is English."""
    return base_language(tag) in _ENGLISH
