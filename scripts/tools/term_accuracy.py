#!/usr/bin/env python3
"""Says how many terms of a glossary a model gets right.

    .venv/bin/python scripts/tools/term_accuracy.py split --train en-de.tsv.gz \
        --dev dev.tsv.gz --texts helpcontent2 --out terms
    keras-transformer prepare --train terms/train.tsv --terms terms/terms.tsv \
        --term-share 0.3 --markup symbols ...
    .venv/bin/python scripts/tools/term_accuracy.py measure --run runs/en-de \
        --dev dev.tsv.gz --texts helpcontent2 --terms terms --json

`split` makes a glossary of short texts: `terms.tsv`, `unseen.tsv`, terms of dev
that training shall never see, and `train.tsv`, the training pairs without any
of those. If a third column is the file that a pair is from, `--texts` says what
it begins with in texts of the help: then terms are of the others, the
interface's, and dev texts of the help.

`measure` translates the dev texts that have terms, without a glossary and with
those terms whose translations the reference has, too (Dinu et al. 2019); of a
form, by `documents.glossary.has_form`. The rest that BLEU is given of are the
texts without these words.
"""

import argparse
import collections
import contextlib
import gzip
import json
import pathlib
import re
import sys
import time
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from keras_transformer.documents.glossary import (
    Glossary,
    annotated,
    has_form,
    words_of,
)

_MOST_WORDS = 4  # of a term
# A term has one translation in at least so many of its texts.
_CLEAR = 2 / 3
# Terms in so many training pairs at most may be held out, every other one.
_RARE = 25
_ACCELERATOR = re.compile(r"~|^_|(?:\.{3}|…|:)$|\([~_]?[A-Z]\)(?:\.{3}|…)?$")
_NO_TERM = re.compile(r"[<>%&{}$⟨⟩\"=~_]")
# They begin and end no term.
_FUNCTION_WORDS = set(
    "a all an and are as at be by can do each for from has have if in into is "
    "it its more no not of on only or so that the their then these this to was "
    "when which will with you your".split()
)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(required=True)
    split = commands.add_parser("split")
    split.add_argument("--train", required=True)
    split.add_argument("--out", type=pathlib.Path, required=True)
    split.set_defaults(run=_split)
    measure = commands.add_parser("measure")
    measure.add_argument("--run", dest="model", required=True)
    measure.add_argument("--terms", type=pathlib.Path, required=True)
    measure.add_argument("--limit", type=int, help="dev texts at most")
    measure.add_argument("--json", action="store_true")
    measure.set_defaults(run=_measure)
    for command in (split, measure):
        command.add_argument("--dev", required=True)
        command.add_argument(
            "--texts",
            default="",
            metavar="BEGINNING",
            help="of the third column of help texts (default: all texts are "
            "the help's, and the interface's, too)",
        )
    options = parser.parse_args(arguments)
    options.run(options)
    return 0


def _split(options):
    train, dev = _rows(options.train), _rows(options.dev)
    terms = _interface_terms(train, options.texts)
    glossary = Glossary(terms.items())
    in_dev = {
        term
        for source, target, file in dev
        if file.startswith(options.texts)
        for term in _found(glossary, source, terms)
        if has_form(target, terms[term])
    }
    rows_of = collections.defaultdict(set)
    for row, (source, _, _) in enumerate(train):
        for term in _found(glossary, source, terms):
            rows_of[term].add(row)
    unseen = {
        term
        for term in in_dev
        if len(rows_of[term]) <= _RARE and zlib.crc32(term.encode()) % 2
    }
    held_out = set().union(*(rows_of[term] for term in unseen))
    options.out.mkdir(parents=True)
    known = {term: t for term, t in terms.items() if term not in unseen}
    _write(options.out / "terms.tsv", known.items())
    _write(options.out / "unseen.tsv", [(t, terms[t]) for t in sorted(unseen)])
    left = [r[:2] for row, r in enumerate(train) if row not in held_out]
    _write(options.out / "train.tsv", left)
    print(
        f"{len(known)} terms, {len(unseen)} unseen ones, {len(left)} of "
        f"{len(train)} training pairs"
    )


def _interface_terms(rows, texts):
    """Terms of the interface, and the one translation of each."""
    found = collections.defaultdict(collections.Counter)
    for source, target, file in rows:
        source, target = (
            " ".join(_ACCELERATOR.sub("", text).split())
            for text in (source, target)
        )
        is_interface = not texts or not file.startswith(texts)
        if is_interface and _is_term(source, target):
            words = source.split()
            if all(word[1:] == word[1:].lower() for word in words):
                source = source.lower()  # `Cell Range` is a label.
            found[source][target] += 1
    return {
        term: target
        for term, targets in found.items()
        for target, count in targets.most_common(1)
        if count >= _CLEAR * targets.total()
    }


def _is_term(source, target):
    words = [source[w.start : w.end].lower() for w in words_of(source)]
    return (
        1 <= len(words) <= _MOST_WORDS
        and not _NO_TERM.search(source + target)
        and all(re.fullmatch(r"\w[\w-]*", word) for word in words)
        and bool(re.search(r"[^\W\d]{3}", source))
        and bool(re.search(r"[^\W\d]", target))
        and source.lower() != target.lower()
        and not {words[0], words[-1]} & _FUNCTION_WORDS
    )


def _found(glossary, text, terms):
    """Terms in a text, as the glossary has them."""
    for found in glossary.find(text):
        term = " ".join(text[found.start : found.end].split())
        yield term if term in terms else term.lower()


def _measure(options):
    import keras_transformer as kt
    from keras_transformer.api.runs import run_config

    language = run_config(options.model).data.target_language
    glossaries = {
        name: Glossary.read(options.terms / f"{name}.tsv")
        for name in ("terms", "unseen")
    }
    every = Glossary(
        pair
        for name in glossaries
        for pair in _pairs(options.terms / f"{name}.tsv")
    )
    rows = []
    for source, target, file in _rows(options.dev):
        terms = [t for t in every.find(source) if has_form(target, t.target)]
        if terms and file.startswith(options.texts):
            rows.append((source, target, terms))
    rows = rows[: options.limit]
    model = kt.load(options.model)
    texts = {
        "without": [source for source, _, _ in rows],
        # As a glossary of each text would have it.
        "with": [annotated(source, terms) for source, _, terms in rows],
    }
    model.translate(texts["with"][:1])
    report = {"texts": len(rows)}
    for name, sources in texts.items():
        started = time.perf_counter()
        results = model.translate(sources)
        report[name] = _scores(rows, results, glossaries["unseen"], language)
        report[name]["seconds"] = round(time.perf_counter() - started, 1)
    print(json.dumps(report) if options.json else _table(report))


def _scores(rows, results, unseen, language):
    """Shares of terms that are right, and BLEU, of translations."""
    from keras_transformer.evaluation.bleu_chrf import scores

    right = {"known": collections.Counter(), "unseen": collections.Counter()}
    rests = []
    for (source, reference, terms), result in zip(rows, results, strict=True):
        targets = {t.target: source[t.start : t.end] for t in terms}
        for wanted, term in targets.items():
            counts = right["unseen" if unseen.find(term) else "known"]
            counts["terms"] += 1
            counts["exact"] += has_form(result, wanted, exact=True)
            counts["form"] += has_form(result, wanted)
        rests.append([_without(text, targets) for text in (result, reference)])
    references = [reference for _, reference, _ in rows]
    report = {"bleu": scores(results, references, language).bleu}
    report["bleu_of_the_rest"] = scores(
        *zip(*rests, strict=True), language
    ).bleu
    for name, counts in right.items():
        report[name] = {"terms": counts["terms"]} | {
            kind: round(counts[kind] / counts["terms"], 4)
            for kind in ("exact", "form")
            if counts["terms"]
        }
    return report


def _without(text, terms):
    """A text without the words of terms, in any form."""
    words = [
        part
        for term in terms
        for part in (term[w.start : w.end] for w in words_of(term))
    ]
    kept = [
        text[w.start : w.end]
        for w in words_of(text)
        if not any(has_form(text[w.start : w.end], word) for word in words)
    ]
    return " ".join(kept)


def _table(report):
    lines = [f"{report['texts']} texts"]
    for name in ("without", "with"):
        of = report[name]
        shares = [
            f"{kind} {of[kind]['terms']}: "
            f"{of[kind].get('exact', 0):.1%} exact, "
            f"{of[kind].get('form', 0):.1%} any form"
            for kind in ("known", "unseen")
        ]
        lines.append(
            f"{name:8}{'; '.join(shares)}; BLEU {of['bleu']:.1f}, of the rest "
            f"{of['bleu_of_the_rest']:.1f}; {of['seconds']} s"
        )
    return "\n".join(lines)


def _rows(path):
    """Source, target and file of each line; without a file, ""."""
    opened = gzip.open if str(path).endswith(".gz") else open
    with contextlib.closing(opened(path, "rt", encoding="utf-8")) as lines:
        columns = [line.rstrip("\n").split("\t") for line in lines]
    return [(*row, "")[:3] for row in columns]


def _pairs(path):
    lines = path.read_text(encoding="utf-8").splitlines()
    return [tuple(line.split("\t")) for line in lines]


def _write(path, pairs):
    lines = "".join(f"{source}\t{target}\n" for source, target in pairs)
    path.write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
