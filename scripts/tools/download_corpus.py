#!/usr/bin/env python3
"""Downloads a parallel corpus and writes it as a TSV for `prepare`.

    .venv/bin/python scripts/tools/download_corpus.py tatoeba --pair en-zh \\
        --out corpora/en-zh.tsv
    .venv/bin/python scripts/tools/download_corpus.py opus --corpus TED2020 \\
        --pair en-zh --out corpora/ted-en-zh.tsv

The TSV has three columns: source, target, attribution. Beside it stands
`NAME.LICENCE.txt`, which says where the text is from and under what terms.
A download that is cut off goes on when the same command runs again.
"""

import argparse
import datetime
import json
import re
import sys
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from keras_transformer.errors import InputError
from keras_transformer.system.checksums import checksum
from keras_transformer.system.files import replacing, write_text
from scripts.tools.parallel_zip import (
    DamagedZipError,
    Layout,
    licence_texts,
    open_zip,
    read_rows,
)
from scripts.tools.resumable_download import (
    NotFoundError,
    download,
    fetch_text,
)

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
_TATOEBA_NOTE = """\
The sentences are from the Tatoeba Project (tatoeba.org), put together by \
manythings.org.
The third column of the TSV names the authors; keep it when you pass the text \
on."""
_OPUS_NOTE = """\
OPUS (opus.nlpl.eu) collects corpora of many owners; each has its own terms, \
which follow
below if the archive says them. Read them before you pass text or models on. \
Cite the corpus
and: J. Tiedemann, Parallel Data, Tools and Interfaces in OPUS, LREC 2012."""


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


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns 0, or 2 after one line on stderr."""
    options = _parser().parse_args(arguments)
    try:
        _run(options)
    except InputError as error:
        told = str(error)
    except OSError as error:
        # Writing to a full disk names no file.
        where = error.filename or Path(options.out).parent
        told = f"{where}: {error.strerror or error}"
    except KeyboardInterrupt:
        told = "stopped; the same command resumes from here"
    else:
        return 0
    print(f"download_corpus.py: {told}", file=sys.stderr)
    return 2


def _run(options):
    output = Path(options.out)
    if output.exists() and not options.force:
        raise InputError(
            f"{output} is there already; give another --out, or --force"
        )
    source, target = _split_pair(options.pair)
    output.parent.mkdir(parents=True, exist_ok=True)
    find = _tatoeba if options.site == "tatoeba" else _opus
    corpus, archive, digest = _fetch(find(options, source, target), options)
    try:
        written, skipped = _convert(corpus, archive, digest, output, options)
    except DamagedZipError as error:
        archive.unlink(missing_ok=True)
        raise InputError(
            f"{corpus.url}: {error}; it was deleted, run the command again "
            "to download it anew"
        ) from error
    if not options.keep_archive:
        archive.unlink()
    print(f"pairs    {written}")
    print(f"skipped  {skipped} (empty side, one column, or no UTF-8)")
    print(f"from     {corpus.url}")
    print(f"sha256   {digest}")
    print(f"licence  {corpus.licence} (see {_licence_path(output)})")
    print(f"wrote    {output}")


def _fetch(candidates, options):
    """The first corpus that the server has, its archive and its checksum.

    There are several candidates where the language codes are not certain.
    """
    for number, corpus in enumerate(candidates, start=1):
        archive = Path(options.out).parent / corpus.archive_name
        if archive.exists():
            return corpus, archive, _check_present(archive, options.sha256)
        limits = {"timeout": options.timeout, "attempts": options.attempts}
        try:
            digest = download(
                corpus.url, archive, sha256=options.sha256, **limits
            )
        except NotFoundError as error:
            if number == len(candidates):
                raise InputError(f"{error}; {corpus.not_found_hint}") from error
        else:
            return corpus, archive, digest


def _check_present(archive: Path, expected: str | None) -> str:
    """Uses an archive that `--keep-archive` left, if it is the right one."""
    print(f"Using {archive}, which is there already", file=sys.stderr)
    digest = checksum(archive)
    if expected is not None and digest != expected.lower():
        raise InputError(
            f"{archive}: SHA-256 is {digest}, expected {expected.lower()}; "
            "delete the file to download it anew"
        )
    return digest


def _convert(corpus, archive, digest, output, options):
    """Writes the TSV and its licence; returns lines written and skipped."""
    written = skipped = 0
    with (
        replacing(output) as temporary,
        open_zip(archive, options.max_gigabytes) as members,
    ):
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            for row in read_rows(members, corpus.layout):
                if row is None:
                    skipped += 1
                else:
                    file.write("\t".join(row) + "\n")
                    written += 1
        texts = licence_texts(members)
        if not written:
            raise DamagedZipError("it has no sentence pair")
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    parts = [
        f"{corpus.title}\n\n"
        f"Licence: {corpus.licence}\n{corpus.note}\n\n"
        f"Downloaded {day} from {corpus.url}\n"
        f"SHA-256 of the archive: {digest}\n"
    ]
    parts += [f"--- {name} ---\n\n{text}\n" for name, text in texts.items()]
    write_text(_licence_path(output), "\n".join(parts))
    return written, skipped


def _licence_path(output: Path) -> Path:
    return output.with_name(output.name + ".LICENCE.txt")


def _split_pair(pair: str) -> tuple[str, str]:
    """Splits `en-zh`; a code may have an underscore (`zh_cn`)."""
    match = re.fullmatch(
        r"([A-Za-z]{2,3}(?:_\w+)?)-([A-Za-z]{2,3}(?:_\w+)?)", pair
    )
    if match is None or match[1] == match[2]:
        raise InputError(
            f"--pair '{pair}': expected two different language codes, source "
            "first, such as en-zh"
        )
    return match[1], match[2]


def _tatoeba(options, source: str, target: str) -> list[Corpus]:
    """English with another language, in either direction."""
    sides = [THREE_LETTER_CODES.get(code, code) for code in (source, target)]
    english = [code in ("en", "eng") for code in sides]
    if sum(english) != 1:
        raise InputError(
            f"--pair '{source}-{target}': Tatoeba's files have English on one "
            "side, such as en-zh or fr-en; for others use opus"
        )
    other = sides[0] if english[1] else sides[1]
    corpus = Corpus(
        url=f"{(options.base_url or TATOEBA_URL).rstrip('/')}/{other}-eng.zip",
        archive_name=f"{other}-eng.zip",
        layout=Layout(f"{other}.txt", f"{other}.txt", is_swapped=english[1]),
        title=f"Tatoeba sentence pairs, {other} and English",
        licence="CC BY 2.0 FR",
        note=_TATOEBA_NOTE,
        not_found_hint="languages are named by two letters (en-zh) or as on "
        "manythings.org/anki (en-cmn)",
    )
    return [corpus]


def _opus(options, source: str, target: str) -> list[Corpus]:
    """The candidates for the codes that a language may have, or the latest.

    Raises:
        InputError: OPUS has nothing of the kind.
    """
    _check_word(
        "--corpus", options.corpus, "a name as in OPUS, such as TED2020"
    )
    pairs = [
        (a, b)
        for a in OPUS_ALTERNATIVES.get(source, (source,))
        for b in OPUS_ALTERNATIVES.get(target, (target,))
    ]
    if options.release:
        _check_word("--release", options.release, "one such as v1")
        return [_opus_corpus(options, options.release, *p) for p in pairs]
    for pair in pairs:
        if release := _latest_release(options, *pair):
            return [_opus_corpus(options, release, *pair)]
    raise InputError(
        f"OPUS has no corpus '{options.corpus}' for {source}-{target}; names "
        "and codes (zh_cn, pt_br) are those of opus.nlpl.eu"
    )


def _check_word(option, text, expected):
    """Refuses what would lead elsewhere as a part of an address."""
    if not re.fullmatch(r"[\w.-]+", text):
        raise InputError(f"{option} '{text}': expected {expected}")


def _latest_release(options, source: str, target: str) -> str | None:
    """Asks the OPUS service for the latest release of a pair."""
    first, second = sorted((source, target))
    query = {"corpus": options.corpus, "source": first, "target": second}
    query |= {"preprocessing": "moses", "version": "latest"}
    address = options.api_url or OPUS_API_URL
    url = f"{address}?{urllib.parse.urlencode(query)}"
    text = fetch_text(url, options.timeout, options.attempts)
    try:
        releases = [
            str(entry["version"])
            for entry in json.loads(text)["corpora"]
            if (entry["source"], entry["target"]) == (first, second)
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{url}: the answer is not understood; give --release, such as v1"
        ) from error
    if not releases:
        return None
    if not re.fullmatch(r"[\w.-]+", releases[0]):
        raise InputError(f"{url}: '{releases[0]}' is no release")
    return releases[0]


def _opus_corpus(options, release: str, source: str, target: str) -> Corpus:
    # OPUS stores each pair once, its codes in alphabetical order.
    name, pair = options.corpus, "-".join(sorted((source, target)))
    folder = f"{(options.base_url or OPUS_URL).rstrip('/')}/OPUS-{name}"
    return Corpus(
        url=f"{folder}/{release}/moses/{pair}.txt.zip",
        archive_name=f"OPUS-{name}-{release}-{pair}.txt.zip",
        layout=Layout(
            f"{name}.{pair}.{source}",
            f"{name}.{pair}.{target}",
            attribution=f"OPUS {name} {release}",
        ),
        title=f"OPUS {name} {release}, {source} and {target}",
        licence="that of the corpus itself",
        note=_OPUS_NOTE,
        not_found_hint="names, releases and codes (zh_cn, pt_br) are those of "
        "opus.nlpl.eu",
    )


def _sha256(text: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{64}", text):
        raise argparse.ArgumentTypeError("expected 64 hexadecimal digits")
    return text


def _positive(kind):
    def parse(text: str):
        value = kind(text)
        if not value > 0:
            raise argparse.ArgumentTypeError(f"'{text}' is not above 0")
        return value

    parse.__name__ = kind.__name__  # which argparse names in its error
    return parse


def _parser() -> argparse.ArgumentParser:
    common = argparse.ArgumentParser(add_help=False)
    add = common.add_argument
    add("--pair", required=True, help="languages, source first: en-zh")
    add("--out", required=True, help="the TSV to write")
    add("--force", action="store_true", help="replace --out if it is there")
    add("--sha256", type=_sha256, help="what the archive has to be")
    add("--keep-archive", action="store_true", help="keep the zip beside --out")
    add("--base-url", help="a mirror: the address that the zips are under")
    add("--timeout", type=_positive(float), default=30.0, help="seconds")
    add("--attempts", type=_positive(int), default=5, help="in a row, in vain")
    add(
        "--max-gigabytes",
        type=_positive(float),
        default=20.0,
        help="refuse an archive that unpacks to more (default: %(default)g)",
    )
    parser = argparse.ArgumentParser(
        prog="download_corpus.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    sites = parser.add_subparsers(dest="site", required=True, metavar="SITE")
    sites.add_parser(
        "tatoeba",
        parents=[common],
        help="short sentences with English on one side (manythings.org)",
    )
    opus = sites.add_parser(
        "opus", parents=[common], help="one of the corpora of OPUS"
    )
    opus.add_argument("--corpus", required=True, help="as in OPUS: TED2020")
    opus.add_argument("--release", help="such as v1 (default: the latest)")
    opus.add_argument("--api-url", help="where releases are looked up")
    return parser


if __name__ == "__main__":
    sys.exit(main())
