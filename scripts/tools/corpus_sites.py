"""Where parallel corpora are on the web: addresses, codes, licences."""

import argparse
import json
import re
import urllib.parse
from dataclasses import dataclass

from scripts.tools.resumable_download import (
    DownloadError,
    NotFoundError,
    fetch_text,
)

__all__ = ["Corpus", "NotFoundError", "Layout", "find"]

TATOEBA_URL = "https://www.manythings.org/anki"
OPUS_URL = "https://object.pouta.csc.fi"
OPUS_API_URL = "https://opus.nlpl.eu/opusapi/"

# The languages of manythings.org that have a two-letter code. Those without
# one are given by their three letters, as they stand in the file's name.
THREE_LETTER_CODES = {
    "af": "afr", "ar": "ara", "az": "aze", "be": "bel", "bg": "bul",
    "bn": "ben", "ca": "cat", "cs": "ces", "da": "dan", "de": "deu",
    "el": "ell", "eo": "epo", "es": "spa", "et": "est", "eu": "eus",
    "fa": "pes", "fi": "fin", "fr": "fra", "ga": "gle", "gl": "glg",
    "he": "heb", "hi": "hin", "hr": "hrv", "hu": "hun", "id": "ind",
    "is": "isl", "it": "ita", "ja": "jpn", "ka": "kat", "ko": "kor",
    "lt": "lit", "lv": "lvs", "mk": "mkd", "mr": "mar", "ms": "zsm",
    "nb": "nob", "nl": "nld", "no": "nob", "pl": "pol", "pt": "por",
    "ro": "ron", "ru": "rus", "sk": "slk", "sl": "slv", "sq": "sqi",
    "sr": "srp", "sv": "swe", "ta": "tam", "te": "tel", "th": "tha",
    "tl": "tgl", "tr": "tur", "uk": "ukr", "ur": "urd", "vi": "vie",
    "zh": "cmn",
}  # fmt: skip

# Chinese goes by several codes in OPUS, depending on the corpus.
OPUS_ALTERNATIVES = {"zh": ("zh", "zh_cn", "zh_CN", "cmn")}


@dataclass(frozen=True)
class Layout:
    """How the pairs lie in an archive.

    Attributes:
        source_member: The file with the source sentences.
        target_member: The file with the target sentences; the same file if
            both stand on one line, tab between them.
        is_swapped: In one file, the target stands before the source.
        attribution: The third column, where the archive has none.
    """

    source_member: str
    target_member: str
    is_swapped: bool = False
    attribution: str = ""


@dataclass(frozen=True)
class Corpus:
    """A corpus that can be downloaded, and the terms it comes under."""

    url: str
    archive_name: str
    layout: Layout
    title: str
    licence: str
    note: str
    not_found_hint: str


def find(options: argparse.Namespace, source: str, target: str) -> list[Corpus]:
    """Returns the candidates for what was asked for, the likeliest first.

    Raises:
        DownloadError: if the site has nothing of the kind.
    """
    if options.site == "tatoeba":
        return [_tatoeba(options.base_url or TATOEBA_URL, source, target)]
    return _opus(options, source, target)


def _tatoeba(base_url: str, source: str, target: str) -> Corpus:
    """English with another language, in either direction."""
    sides = [THREE_LETTER_CODES.get(code, code) for code in (source, target)]
    english = [code in ("en", "eng") for code in sides]
    if sum(english) != 1:
        raise DownloadError(
            f"--pair '{source}-{target}': Tatoeba's files have English on one "
            "side, such as en-zh or fr-en; for others use opus"
        )
    other = sides[0] if english[1] else sides[1]
    return Corpus(
        url=f"{base_url.rstrip('/')}/{other}-eng.zip",
        archive_name=f"{other}-eng.zip",
        layout=Layout(f"{other}.txt", f"{other}.txt", is_swapped=english[1]),
        title=f"Tatoeba sentence pairs, {other} and English",
        licence="CC BY 2.0 FR",
        note=(
            "The sentences are from the Tatoeba Project (tatoeba.org), put "
            "together by manythings.org.\nThe third column of the TSV names "
            "the authors; keep it when you pass the text on."
        ),
        not_found_hint=(
            "languages are named by two letters (en-zh) or as on "
            "manythings.org/anki (en-cmn)"
        ),
    )


def _opus(
    options: argparse.Namespace, source: str, target: str
) -> list[Corpus]:
    if not re.fullmatch(r"[\w.-]+", options.corpus):
        raise DownloadError(
            f"--corpus '{options.corpus}': expected a name as in OPUS, such "
            "as TED2020"
        )
    pairs = [
        (a, b)
        for a in OPUS_ALTERNATIVES.get(source, (source,))
        for b in OPUS_ALTERNATIVES.get(target, (target,))
    ]
    base_url = options.base_url or OPUS_URL
    if options.release:
        if not re.fullmatch(r"[\w.-]+", options.release):
            raise DownloadError(
                f"--release '{options.release}': expected one such as v1"
            )
        return [
            _opus_corpus(base_url, options.corpus, options.release, a, b)
            for a, b in pairs
        ]
    for a, b in pairs:
        release = _latest_release(options, a, b)
        if release:
            return [_opus_corpus(base_url, options.corpus, release, a, b)]
    raise DownloadError(
        f"OPUS has no corpus '{options.corpus}' for {source}-{target}; names "
        "and codes (zh_cn, pt_br) are those of opus.nlpl.eu"
    )


def _latest_release(
    options: argparse.Namespace, source: str, target: str
) -> str | None:
    """Asks the OPUS service for the latest release of a pair."""
    first, second = sorted((source, target))
    query = urllib.parse.urlencode(
        {
            "corpus": options.corpus,
            "source": first,
            "target": second,
            "preprocessing": "moses",
            "version": "latest",
        }
    )
    url = f"{options.api_url or OPUS_API_URL}?{query}"
    text = fetch_text(url, options.timeout, options.attempts)
    try:
        found = [
            entry["version"]
            for entry in json.loads(text)["corpora"]
            if (entry["source"], entry["target"]) == (first, second)
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise DownloadError(
            f"{url}: the answer is not understood; give --release, such as v1"
        ) from error
    if not found:
        return None
    if not re.fullmatch(r"[\w.-]+", str(found[0])):
        raise DownloadError(f"{url}: '{found[0]}' is no release")
    return str(found[0])


def _opus_corpus(
    base_url: str, name: str, release: str, source: str, target: str
) -> Corpus:
    # OPUS stores each pair once, its codes in alphabetical order.
    pair = "-".join(sorted((source, target)))
    return Corpus(
        url=f"{base_url.rstrip('/')}/OPUS-{name}/{release}/moses/{pair}.txt.zip",
        archive_name=f"OPUS-{name}-{release}-{pair}.txt.zip",
        layout=Layout(
            f"{name}.{pair}.{source}",
            f"{name}.{pair}.{target}",
            attribution=f"OPUS {name} {release}",
        ),
        title=f"OPUS {name} {release}, {source} and {target}",
        licence="that of the corpus itself",
        note=(
            "OPUS (opus.nlpl.eu) collects corpora of many owners; each has "
            "its own terms, which follow\nbelow if the archive says them. "
            "Read them before you pass text or models on. Cite the corpus\n"
            "and: J. Tiedemann, Parallel Data, Tools and Interfaces in OPUS, "
            "LREC 2012."
        ),
        not_found_hint=(
            "names, releases and codes (zh_cn, pt_br) are those of opus.nlpl.eu"
        ),
    )
