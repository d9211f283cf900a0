#!/usr/bin/env python3
"""Corpus that the benchmarks measure: a folder of `train.tsv` and `dev.tsv`.

    python scripts/benchmarks/corpus.py

makes `corpora/tatoeba`, English to Chinese: Tatoeba's pairs as
`scripts/tools/download_corpus.py` fetches them, with its licence note, split
by groups of sentences. Further options are those of the download. The archive
is published anew now and then; `--sha256` pins one. A ratio to a peer doesn't
depend on it: both sides get the same files.
"""

import dataclasses
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

FETCHED = ROOT / "corpora" / "tatoeba"
# A copy that may lie beside the checkout.
_SHARED = ROOT.parent / "shared" / "data" / "tatoeba"
_DEV_FRACTION, _SEED = 0.04, 0
MISSING = (
    "no corpus to measure on. Accepted: train.tsv and dev.tsv by option, or "
    "scripts/benchmarks/corpus.py first, which fetches them"
)


def corpus_folder(folder=None) -> pathlib.Path | None:
    """The folder given, or else that of Tatoeba; None where there is none."""
    if folder is not None:
        return pathlib.Path(folder)
    candidates = (FETCHED, _SHARED)
    return next((path for path in candidates if path.is_dir()), None)


def prepare_data(scratch: pathlib.Path, config, folder=None):
    """Prepared data of a corpus.

    Args:
        scratch: where it is put.
        config: `DataConfig`.
        folder: of the corpus; None: Tatoeba where it is at hand, else the
            built-in corpus.
    """
    from keras_transformer.data.corpus import CorpusFile
    from keras_transformer.data.prepare import prepare

    folder = corpus_folder(folder)
    if folder is None:
        folder = scratch
        _write_demo_corpus(scratch / "train.tsv", scratch / "dev.tsv")
    if not config.source_language:
        config = dataclasses.replace(
            config, source_language="en", target_language="zh"
        )
    return prepare(
        [CorpusFile.parse(str(folder / "train.tsv"))],
        scratch / "data",
        config,
        dev=CorpusFile.parse(str(folder / "dev.tsv")),
    )


def _write_demo_corpus(train, dev):
    from keras_transformer.data.demo import load_demo_corpus

    corpus = load_demo_corpus()
    for path, pairs in ((train, corpus.train), (dev, corpus.dev)):
        lines = [f"{source}\t{target}\n" for source, target in pairs]
        path.write_text("".join(lines), encoding="utf-8")


def source_sentences(path, count: int, folder=None) -> list[str]:
    """So many source sentences, spread evenly over a file.

    Args:
        path: a line each, or a TSV's first column; None: the corpus' dev.tsv.
        count: how many at most.
        folder: see `prepare_data`.
    """
    folder = corpus_folder(folder)
    if path is None and folder is None:
        from keras_transformer.data.demo import load_demo_corpus

        texts = [source for source, _ in load_demo_corpus().dev]
    else:
        path = pathlib.Path(path or folder / "dev.tsv")
        with path.open(encoding="utf-8") as lines:
            texts = [line.rstrip("\n").split("\t")[0] for line in lines]
    texts = sorted((text for text in texts if text.strip()), key=len)
    return texts[:: max(1, len(texts) // count)][:count]


def dev_pairs(path=None) -> list[tuple[str, str]]:
    """The pairs of a dev set.

    Args:
        path: a TSV, or the folder of a corpus; see `prepare_data`.
    """
    path = corpus_folder(path)
    if path is None:
        from keras_transformer.data.demo import load_demo_corpus

        return load_demo_corpus().dev
    from keras_transformer.data.corpus import CorpusFile, read_pairs

    tsv = path / "dev.tsv" if path.is_dir() else path
    return list(read_pairs([CorpusFile.parse(str(tsv))]))


def main(arguments: list[str] | None = None) -> int:
    """Fetches Tatoeba and splits it; the exit status."""
    from scripts.tools import download_corpus

    arguments = sys.argv[1:] if arguments is None else arguments
    tsv = FETCHED / "all.tsv"
    fetch = ["tatoeba", "--pair", "en-zh", "--out", str(tsv), *arguments]
    if status := download_corpus.main(fetch):
        return status
    split(tsv, FETCHED / "train.tsv", FETCHED / "dev.tsv")
    return 0


def split(tsv, train, dev):
    """Writes the lines of a TSV to two, groups of sentences whole."""
    from scripts.benchmarks.sentence_groups import (
        choose_dev,
        pair_keys,
        sentence_groups,
    )

    lines = tsv.read_text(encoding="utf-8").splitlines(keepends=True)
    pairs = [tuple(line.split("\t")[:2]) for line in lines]
    groups = sentence_groups(pair_keys(pairs))
    held_out = choose_dev(groups, _DEV_FRACTION, _SEED)
    for path, wanted in ((train, False), (dev, True)):
        chosen = [
            line
            for line, is_dev in zip(lines, held_out, strict=True)
            if is_dev == wanted
        ]
        path.write_text("".join(chosen), encoding="utf-8")
        print(f"wrote    {path} ({len(chosen)} pairs)")


if __name__ == "__main__":
    sys.exit(main())
