"""Reads a parallel corpus, cleans it, builds the tokenizers, writes ids.

Input is a TSV file (source, target, further columns ignored), two files of
aligned lines as SOURCE,TARGET, or a .tmx, .xliff, .po or .jsonl file, also with
.gz or .xz; several after one --train or more. If a file has the whole name, *
and # included, it is that file.

example:
  keras-transformer prepare --train train.tsv --dev dev.tsv --out data/de-en \\
      --source-language de --target-language en
  keras-transformer prepare --train a.de.gz,a.en.gz --dev 0.01 --out data/de-en
  keras-transformer prepare --train a.de-en.tsv 'made.de-en.tsv*0.3#BT' \\
      --dev dev.tsv --out data/mixed
  keras-transformer prepare --train news.tsv --tokenizers runs/en-zh \\
      --out data/news
  keras-transformer prepare --train web.de-en.tsv --dev 0.001 --out data/web \\
      --engine spark --master spark://cluster:7077
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from keras_transformer.cli.console import (
    Stages,
    load_tensorflow,
    say,
    table,
    visible,
)
from keras_transformer.cli.options import (
    SEVERAL,
    add_config_options,
    add_engine_options,
    add_options,
    add_placeholder_option,
    check_engine_options,
    config_changes,
)
from keras_transformer.data.corpus import read_lines
from keras_transformer.errors import InputError

if TYPE_CHECKING:
    from keras_transformer.data.prepared import PreparedData


def add_arguments(parser: argparse.ArgumentParser) -> None:
    train = (
        "files, or SOURCE,TARGET pairs of files; *0.3 takes 30 %% of a file's "
        "pairs, *3 each of them three times, #BT puts the token <BT> before "
        "their sources; may be repeated"
    )
    corpora = {"--train FILE[*WEIGHT][#TAG]": train}
    add_options(parser, corpora, required=True, **SEVERAL)
    dev = "development set, or the share of the corpus to take for it"
    add_options(parser, {"--dev FILE|FRACTION": dev}, action="append")
    held_out = (
        "test sets whose sentences data.remove_leaked keeps out of training, "
        "as those of a --dev file"
    )
    add_options(parser, {"--held-out FILE": held_out}, default=[], **SEVERAL)
    add_options(parser, {"--out FOLDER": "new folder"}, required=True)
    add_options(
        parser,
        {
            "--tokenizers FOLDER": "use the tokenizers of a run or of prepared "
            "data, make no new ones",
            "--add-tokens FILE": "tokens, one a line, that these get where "
            "they lack them, such as those of a script; train --from learns "
            "them",
            "--terms FILE": "TSV of terms and their translations, which are "
            "annotated in a share of the sources, as phrases of the corpus "
            "are; see --term-share",
        },
    )
    add_placeholder_option(parser, "with --markup symbols")
    workers = (
        "processes; 1: only this one (default: one a core where the corpus is "
        "large enough)"
    )
    add_options(parser, {"--workers N": workers}, type=int)
    add_engine_options(
        parser,
        "Apache Spark makes the same data of corpora larger than a machine",
    )
    add_config_options(
        parser,
        ("data",),
        (
            *("source_language", "target_language"),
            *("source_tokenizer", "target_tokenizer"),
            *("markup", "term_share"),
        ),
        "SentencePiece, one vocabulary where both languages have one script",
    )


def run(arguments: argparse.Namespace) -> None:
    check_engine_options(arguments)
    dev, *more = arguments.dev or [None]
    if more:
        raise InputError(
            f"--dev is given {len(arguments.dev)} times. Accepted: one file, "
            "or a fraction"
        )
    changes = config_changes(arguments, ("data",))
    if patterns := arguments.placeholder:
        changes.append(({"data": {"placeholders": patterns}}, "--placeholder"))
    load_tensorflow()
    from keras_transformer.data.prepare import (
        as_corpora,
        data_config,
        prepare,
    )
    from keras_transformer.data.prepared import few_pairs

    train = as_corpora(arguments.train)
    config = data_config(train, arguments.preset, changes, arguments.tokenizers)
    with Stages("pairs") as stages:
        prepared = prepare(
            train,
            arguments.out,
            config,
            dev=dev,
            progress=stages,
            tokenizers=arguments.tokenizers,
            add_tokens=_tokens(arguments.add_tokens),
            held_out=arguments.held_out,
            workers=arguments.workers,
            load=load_tensorflow,
            engine=arguments.engine,
            master=arguments.master,
            terms=arguments.terms,
        )
    describe(prepared, arguments.out)
    few = few_pairs(prepared)
    if few and arguments.tokenizers is None:
        say(f"warning: {few}")


def _tokens(path):
    """The tokens of a file, one per line; none without a file."""
    return [] if path is None else [*filter(None, read_lines(path))]


def describe(prepared: PreparedData, folder: str | os.PathLike) -> None:
    """Prints the report of data written to a folder.

    Warns if the dev set shares sentences with the training data.
    """
    report = prepared.report
    rows = [
        (name, _counted(counts)) for name, counts in report["cleaning"].items()
    ]
    # One pair per reason; the manifest has more.
    rows += [
        (f"such as {reason}", _sample(*pairs[0]))
        for reason, pairs in report["samples"].items()
    ]
    corpora = report["corpora"]
    if len(corpora) > 1 or any(c["weight"] != 1 or c["tag"] for c in corpora):
        rows += [("corpus", _corpus(corpus)) for corpus in corpora]
    if markup := report.get("markup"):
        rows.append(
            (
                "markup",
                f"symbols in {markup['masked']:,} pairs that have it on both "
                f"sides and in {markup['injected']:,} without; removed from "
                f"{markup['different']:,} whose sides differ and "
                f"{markup['too_many']:,} with too much",
            )
        )
    if terms := report.get("terms"):
        rows.append(
            (
                "terms",
                f"in {terms['pairs']:,} sources, {terms['listed']:,} listed, "
                f"{terms['drawn']:,} drawn from the corpus",
            )
        )
    config = prepared.config
    rows.append(
        ("languages", f"{config.source_language} to {config.target_language}")
    )
    for side, size in report["vocabulary_sizes"].items():
        kind = getattr(config, f"{side}_kind")
        if config.shared_vocabulary:
            kind = f"shared {kind}"
        unknown = ""
        if report["dev_unknown_share"]:
            fraction = report["dev_unknown_share"][side]
            unknown = f", {fraction:.2%} of the dev tokens unknown"
        rows.append((side, f"{size:,} {kind} tokens{unknown}"))
    rows.append(("written", str(folder)))
    print(table(rows))
    if report["dev_overlap"]:
        pairs, total = report["dev_overlap"], prepared.counts["dev"]
        say(
            f"warning: {pairs} of {total} dev pairs share a sentence with "
            "training; scores on them will be too good "
            "(--set data.remove_leaked=side leaves those out of training)"
        )


def _sample(source, target):
    """A dropped pair, in one line."""
    return visible(" | ".join(repr(text[:60]) for text in (source, target)))


def _corpus(corpus):
    """One corpus of several, with the counts of its pairs."""
    tag = f"{corpus['tag']} " if corpus["tag"] else ""
    return (
        f"{tag}{corpus['name']}: {corpus['read']:,} read, "
        f"{corpus['left']:,} left, times {corpus['weight']:.4g} are "
        f"{corpus['trained']:,} in an epoch"
    )


def _counted(counts):
    """Pairs read and kept, and the reasons that dropped any."""
    return ", ".join(
        f"{count:,} {what}"
        for what, count in counts.items()
        if count or what in ("read", "kept")
    )
