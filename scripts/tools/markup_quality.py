#!/usr/bin/env python3
"""Measures what becomes of markup in translations of a TSV file.

    .venv/bin/python scripts/tools/markup_quality.py dev.tsv --language de \\
        --symbols runs/symbols --project runs/keep --keep runs/keep

Each of the three takes runs or exports, and is a way to translate markup: by
symbols that the model was trained with, projected by the alignment (runs only),
and as text like the rest. Of each, as JSON:

    accuracy    share of the sources with markup whose translation is well
                formed: no half of a pair is without the other
    match       share of the sources with markup whose translation has the
                same marks and pairs
    position    of the sentences with markup whose words are the reference's,
                share of the marks that are at the reference's place
    bleu, chrf  of the texts without markup, of all sentences

Shares have their 95 % intervals (Wilson 1927). Reference: Hashimoto et al.
2019, "A High-Quality Multilingual Dataset for Structured Documentation
Translation", section 5.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from keras_transformer.data.corpus import sentence_pairs
from keras_transformer.documents.markup import find_marks, strip_marks

_QUICK = 100  # pairs
_MOST = 1_000_000
_WAYS = ("symbols", "project", "keep")


def structure(text: str) -> tuple[collections.Counter, int]:
    """The marks of a text, and how many of them belong to a pair."""
    marks = find_marks(text)
    pairs = sum(mark.partner != n for n, mark in enumerate(marks))
    return collections.Counter(text[m.start : m.end] for m in marks), pairs


def is_well_formed(source: str, translation: str) -> bool:
    """True if no tag that is half of a pair in the source is alone."""
    paired = set()
    for n, mark in enumerate(find_marks(source)):
        if mark.partner != n:
            paired.add(source[mark.start : mark.end])
    marks = find_marks(translation)
    return not any(
        mark.partner == n and translation[mark.start : mark.end] in paired
        for n, mark in enumerate(marks)
    )


def places(text: str) -> tuple[str, collections.Counter]:
    """The characters of a text without markup, and where its marks are."""
    marks = find_marks(text)
    letters, found, end = "", [], 0
    for mark in marks:
        letters += "".join(text[end : mark.start].split())
        found.append((text[mark.start : mark.end], len(letters)))
        end = mark.end
    letters += "".join(text[end:].split())
    return letters, collections.Counter(found)


def without_markup(text: str) -> str:
    """A text without its marks."""
    return strip_marks(text, find_marks(text)).text


def share(part: int, total: int) -> dict:
    """A share in percent, its 95 % interval, and of how many."""
    if not total:
        return {"of": 0}
    z, p = 1.96, part / total
    middle = p + z * z / (2 * total)
    width = z * math.sqrt(p * (1 - p) / total + z * z / (4 * total * total))
    low, high = (
        round(100 * (middle + sign * width) / (1 + z * z / total), 2)
        for sign in (-1, 1)
    )
    return {
        "percent": round(100 * p, 2),
        "interval": [max(low, 0.0), min(high, 100.0)],
        "of": total,
    }


def measures(
    sources: list[str], references: list[str], translations: list[str]
) -> dict:
    """All that is measured of markup."""
    formed = matching = marked = right = asked = agreeing = 0
    for source, reference, translation in zip(
        sources, references, translations, strict=True
    ):
        if not find_marks(source):
            continue
        marked += 1
        formed += is_well_formed(source, translation)
        matching += structure(source) == structure(translation)
        letters, found = places(translation)
        wanted_letters, wanted = places(reference)
        if letters == wanted_letters and structure(source) == structure(
            reference
        ):
            agreeing += 1
            asked += wanted.total()
            right += (wanted & found).total()
    return {
        "accuracy": share(formed, marked),
        "match": share(matching, marked),
        "position": share(right, asked),
        "sentences_with_equal_words": agreeing,
    }


def translated(folder: str, way: str, sources: list[str]) -> list[str]:
    """Translations of texts by a run or an export."""
    from keras_transformer.exporting.saved_translator import (
        SavedTranslatorFactory,
    )
    from keras_transformer.training.run import Run
    from keras_transformer.translation.request import TranslationRequest
    from keras_transformer.translation.stream import one_by_one, stream_lines
    from keras_transformer.translation.workers import RunTranslatorFactory

    request = TranslationRequest(markup=None if way == "symbols" else way)
    if pathlib.Path(folder, "config.yaml").is_file():
        decoding = Run.load(folder).config.decoding
        factory = RunTranslatorFactory(folder, "best", decoding, request)
    else:
        factory = SavedTranslatorFactory(folder, request=request)
    results = stream_lines(sources, one_by_one(factory()))
    return [result and result.hypotheses[0].text for result in results]


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("pairs", help="TSV of sources and references")
    for way in _WAYS:
        parser.add_argument(f"--{way}", action="append", default=[])
    parser.add_argument("--language", required=True, help="of references")
    parser.add_argument("--quick", action="store_true", help="100 pairs")
    options = parser.parse_args(arguments)
    from keras_transformer.evaluation.bleu_chrf import scores

    pairs = sentence_pairs(options.pairs, _MOST)
    sources, references = map(list, zip(*pairs, strict=True))
    if options.quick:
        del sources[_QUICK:], references[_QUICK:]
    for way in _WAYS:
        for folder in getattr(options, way):
            started = time.process_time()
            found = translated(folder, way, sources)
            seconds = round(time.process_time() - started, 1)
            plain = scores(
                [*map(without_markup, found)],
                [*map(without_markup, references)],
                options.language,
            )
            figures = {
                "way": way,
                "model": folder,
                "pairs": len(sources),
                **measures(sources, references, found),
                "bleu": round(plain.bleu, 2),
                "chrf": round(plain.chrf, 2),
                "processor_seconds": seconds,
            }
            print(json.dumps(figures), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
