#!/usr/bin/env python3
"""Downloads a parallel corpus and writes it as a TSV for `prepare`.

    scripts/tools/download_corpus.py tatoeba --pair en-zh \\
        --out corpora/en-zh.tsv
    scripts/tools/download_corpus.py opus --corpus TED2020 --pair en-zh \\
        --out corpora/ted-en-zh.tsv

The TSV has three columns: source, target, attribution. Beside it stands
`NAME.LICENCE.txt`, which says where the text is from and under what terms.
A download that is cut off goes on when the same command runs again. Standard
library only: any Python 3.11 or newer runs it, before anything is set up.
"""

import argparse
import contextlib
import datetime
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from scripts.tools import corpus_archives, corpus_sites
from scripts.tools.resumable_download import (
    DownloadError,
    download,
    file_sha256,
)

DEFAULT_MAX_GIGABYTES = 20.0


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns 0, or 2 after one line on stderr."""
    options = _parser().parse_args(arguments)
    try:
        _run(options)
    except DownloadError as error:
        print(f"download_corpus.py: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        # Writing to a full disk names no file.
        where = error.filename or Path(options.out).parent
        reason = error.strerror or error
        print(f"download_corpus.py: {where}: {reason}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(
            "\ndownload_corpus.py: stopped; the same command goes on from here",
            file=sys.stderr,
        )
        return 2
    return 0


def _run(options: argparse.Namespace) -> None:
    output = Path(options.out)
    if output.exists() and not options.force:
        raise DownloadError(
            f"{output} is there already; give another --out, or --force"
        )
    source, target = _split_pair(options.pair)
    output.parent.mkdir(parents=True, exist_ok=True)
    corpus, archive, digest = _find_and_fetch(options, source, target)
    try:
        counts, texts = _convert(corpus, archive, output, options.max_gigabytes)
    except corpus_archives.DamagedArchiveError as error:
        archive.unlink(missing_ok=True)
        raise DownloadError(
            f"{corpus.url}: {error}; it was deleted, run the command again "
            "to download it anew"
        ) from error
    _write_licence(corpus, digest, texts, _licence_path(output))
    if not options.keep_archive:
        archive.unlink()
    print(f"pairs    {counts.written}")
    print(f"skipped  {counts.skipped} (empty side, one column, or no UTF-8)")
    print(f"from     {corpus.url}")
    print(f"sha256   {digest}")
    print(f"licence  {corpus.licence} (see {_licence_path(output)})")
    print(f"wrote    {output}")


def _find_and_fetch(options, source, target):
    """Returns the corpus, its archive on disk, and the archive's SHA-256.

    Where the language codes are not certain, there are several candidates,
    and the first that the server has is taken.
    """
    candidates = corpus_sites.find(options, source, target)
    for number, corpus in enumerate(candidates, start=1):
        archive = Path(options.out).parent / corpus.archive_name
        if archive.exists():
            digest = _check_present(archive, options.sha256)
            return corpus, archive, digest
        try:
            digest = download(
                corpus.url,
                archive,
                sha256=options.sha256,
                timeout=options.timeout,
                attempts=options.attempts,
            )
            return corpus, archive, digest
        except corpus_sites.NotFoundError as error:
            if number < len(candidates):
                continue
            raise DownloadError(f"{error}; {corpus.not_found_hint}") from error
    raise DownloadError(f"no such corpus: {options.pair}")


def _check_present(archive: Path, expected: str | None) -> str:
    """Uses an archive that `--keep-archive` left, if it is the right one."""
    print(f"Using {archive}, which is there already", file=sys.stderr)
    digest = file_sha256(archive)
    if expected is not None and digest != expected.lower():
        raise DownloadError(
            f"{archive}: SHA-256 is {digest}, expected {expected.lower()}; "
            "delete the file to download it anew"
        )
    return digest


def _convert(corpus, archive: Path, output: Path, max_gigabytes: float):
    """Writes the TSV beside its place, then moves it there, whole."""
    unfinished = output.with_name(output.name + ".unfinished")
    try:
        with corpus_archives.open_archive(archive, max_gigabytes) as members:
            with open(unfinished, "w", encoding="utf-8", newline="\n") as file:
                counts = corpus_archives.write_pairs(
                    members, corpus.layout, file
                )
            texts = corpus_archives.licence_texts(members)
        if not counts.written:
            raise corpus_archives.DamagedArchiveError("it has no sentence pair")
        os.replace(unfinished, output)
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
    return counts, texts


def _write_licence(corpus, digest: str, texts: dict[str, str], path: Path):
    """Writes what the archive says about its terms beside the TSV."""
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    parts = [
        f"{corpus.title}\n\n"
        f"Licence: {corpus.licence}\n{corpus.note}\n\n"
        f"Downloaded {day} from {corpus.url}\n"
        f"SHA-256 of the archive: {digest}\n"
    ]
    parts += [f"--- {name} ---\n\n{text}\n" for name, text in texts.items()]
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_text("\n".join(parts), encoding="utf-8", newline="\n")
    os.replace(unfinished, path)


def _licence_path(output: Path) -> Path:
    return output.with_name(output.name + ".LICENCE.txt")


def _split_pair(pair: str) -> tuple[str, str]:
    """Splits `en-zh`; a code may have an underscore (`zh_cn`)."""
    match = re.fullmatch(
        r"([A-Za-z]{2,3}(?:_\w+)?)-([A-Za-z]{2,3}(?:_\w+)?)", pair
    )
    if match is None or match[1] == match[2]:
        raise DownloadError(
            f"--pair '{pair}': expected two different language codes, source "
            "first, such as en-zh"
        )
    return match[1], match[2]


def _sha256(text: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{64}", text):
        raise argparse.ArgumentTypeError("expected 64 hexadecimal digits")
    return text


def _positive(kind):
    def parse(text: str):
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if not value > 0:
            raise argparse.ArgumentTypeError(f"'{text}' is not above 0")
        return value

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
        default=DEFAULT_MAX_GIGABYTES,
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
