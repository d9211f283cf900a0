"""Preparation: a parallel corpus to a folder of ids.

The text is read once and cleaned into a work file; the tokenizers, which see
training text only, and the records are made from there.
"""

import contextlib
import dataclasses
import itertools
import os
import pathlib
import shutil
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import tensorflow as tf

from keras_transformer.config.data import DataConfig
from keras_transformer.constants import UNK_ID
from keras_transformer.data.cleaned_text import (
    CleanText,
    Progress,
    write_pairs,
)
from keras_transformer.data.cleaning import (
    CleaningReport,
    RatioMeter,
    UsualRatios,
    keep_by_length,
)
from keras_transformer.data.corpus import CorpusFile, CorpusSpec
from keras_transformer.data.corpus_tokenizers import (
    build_tokenizers,
    existing_tokenizers,
    stage_of,
)
from keras_transformer.data.prepared import (
    DEV_PAIRS,
    FORMAT,
    FORMAT_VERSION,
    MANIFEST,
    SOURCE_TOKENIZER,
    TARGET_TOKENIZER,
    PreparedData,
    describe_corpus,
    fingerprint,
)
from keras_transformer.data.records import SplitWriter
from keras_transformer.data.splits import (
    clean_splits,
    parse_dev,
    require_pairs,
)
from keras_transformer.errors import InputError
from keras_transformer.files import (
    check_free,
    describe_file,
    new_folder,
    write_json,
)
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.version import versions


def prepare(
    train: Iterable[CorpusSpec],
    out: str | os.PathLike,
    config: DataConfig,
    dev: CorpusSpec | float | None = None,
    progress: Progress | None = None,
    *,
    tokenizers: str | os.PathLike | None = None,
    held_out: Iterable[CorpusSpec] = (),
) -> PreparedData:
    """Turns a parallel corpus into a folder of prepared data.

    The folder appears when all is written, or not at all. Memory is that of
    the vocabularies and some 30 bytes a pair (170 with a fraction as `dev`);
    on disk, the cleaned text stands beside the records until they are done.

    Of a dev file, pairs that are empty or over-long are left out and counted,
    nothing else: what is measured shouldn't depend on how training data is
    cleaned. With a fraction, the dev pairs come from the cleaned corpus, and
    count as read in dev, not in training.

    Args:
        train: corpus files, see `CorpusFile.parse`.
        out: the target path, a folder that doesn't exist or is empty.
        config: languages, tokenizers, cleaning.
        dev: a corpus file; or the fraction of the pairs to hold out, above 0
            and below 1; or None.
        progress: called with (stage, done, total or None), in pairs.
        tokenizers: a run or prepared data whose tokenizers are used, and no
            new ones made; `config` must be one that they fit.
        held_out: further corpus files, such as test sets, whose pairs
            `config.remove_leaked` keeps out of training, as those of a dev
            file; nothing else is made of them.

    Returns:
        The prepared data. Its `report` has `cleaning` (counts for `train`
        and `dev`), `dev_overlap` (pairs of a dev file of which a side stands
        in training), `usual_ratios` (`UsualRatios` or None),
        `vocabulary_sizes` and `dev_unknown_share` (unknown tokens over
        tokens), by side.

    Raises:
        InputError: `out` is taken or can't be written, a corpus file or the
            tokenizers can't be used, no pair is left, or `held_out` is given
            and `config.remove_leaked` is "none". Nothing is left behind then.
    """
    files = [CorpusFile.parse(spec) for spec in train]
    held_out = [CorpusFile.parse(spec) for spec in held_out]
    dev = parse_dev(dev)
    if not files:
        raise InputError("no training file. Accepted: one or more")
    if held_out and config.remove_leaked == "none":
        raise InputError(
            "held-out files need data.remove_leaked. Accepted: pair, source "
            "or side. Received: none"
        )
    check_free(out)
    inputs = {
        "train": describe_corpus(files),
        "dev": describe_corpus([dev]) if isinstance(dev, CorpusFile) else dev,
    }
    existing = tokenizers and existing_tokenizers(tokenizers, config)
    prints = [tokenizer.fingerprint() for tokenizer in existing or ()]
    if existing:
        folder = str(tokenizers)
        inputs["tokenizers"] = {"folder": folder, "fingerprints": prints}
    if held_out:
        inputs["held_out"] = describe_corpus(held_out)
    progress = progress or (lambda stage, done, total: None)
    with new_folder(out) as folder:
        work = folder / "work"
        work.mkdir()
        texts, overlap = clean_splits(
            files, dev, work, config, progress, held_out
        )
        splits, measured = _encode(texts, folder, config, progress, existing)
        shutil.rmtree(work)
        manifest = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "fingerprint": fingerprint(
                inputs["train"],
                inputs["dev"],
                config,
                prints,
                inputs.get("held_out"),
            ),
            "config": dataclasses.asdict(config),
            "counts": {name: text.report.kept for name, text in texts.items()},
            "report": {
                "cleaning": {
                    name: text.report.to_dict() for name, text in texts.items()
                },
                "dev_overlap": overlap,
                **measured,
            },
            "versions": versions(),
            "input": inputs,
            "splits": splits,
        }
        write_json(folder / MANIFEST, manifest)
    return PreparedData.load(out)


def _encode(texts, folder, config, progress, tokenizers):
    """Builds (if None are given) and saves the tokenizers; writes records.

    Returns:
        Two parts of the manifest: `splits`, and what `report` has of tokens.
    """
    tokenizers = tokenizers or build_tokenizers(
        texts["train"], config, progress
    )
    names = (SOURCE_TOKENIZER, TARGET_TOKENIZER)
    for name, tokenizer in zip(names, tokenizers, strict=True):
        tokenizer.save(folder / name)
    source, target = (tokenizer.vocabulary_size for tokenizer in tokenizers)
    measured = {
        "usual_ratios": None,
        "vocabulary_sizes": {"source": source, "target": target},
        "dev_unknown_share": None,
    }
    splits, usual = {}, None
    if config.length_ratio_deviations:
        text = texts["train"]
        stage = stage_of(progress, "measuring train", text.pairs)
        usual = measure_ratios(text, tokenizers, config, stage)
        measured["usual_ratios"] = usual and dataclasses.asdict(usual)
    for split, text in texts.items():
        splits[split], tokens = encode_split(
            text,
            folder,
            split,
            tokenizers,
            config,
            stage_of(progress, f"writing {split}", text.pairs),
            usual,
        )
        require_pairs(text, split)
        if split == "dev":
            measured["dev_unknown_share"] = tokens.unknown_fraction()
    return splits, measured


class TokenCounts:
    """Counts tokens and unknown ones, for each side."""

    def __init__(self):
        self._tokens = np.zeros(2, np.int64)
        self._unknown = np.zeros(2, np.int64)

    def add(self, *sides: tf.RaggedTensor):
        for side, ids in enumerate(sides):
            values = ids.flat_values.numpy()
            self._tokens[side] += len(values)
            self._unknown[side] += int((values == UNK_ID).sum())

    def unknown_fraction(self) -> dict[str, float]:
        """Unknown tokens over tokens, `source` and `target`."""
        fractions = self._unknown / np.maximum(self._tokens, 1)
        return {"source": float(fractions[0]), "target": float(fractions[1])}


def measure_ratios(
    text: CleanText,
    tokenizers: tuple[Tokenizer, Tokenizer],
    config: DataConfig,
    progress: Callable[[int], None],
) -> UsualRatios | None:
    """The usual length ratios of the pairs that pass all other checks.

    Args:
        text: the corpus; tokenized here and not changed.
        tokenizers: of the source and of the target.
        config: gives `length_ratio_deviations` and the other checks.
        progress: called with the pairs done so far.
    """
    meter = RatioMeter()
    done = 0
    for chunk, _, lengths in _tokenized(text, tokenizers):
        kept = keep_by_length(*lengths, config, CleaningReport())
        meter.add(*(side[kept] for side in lengths))
        done += len(chunk)
        progress(done)
    return meter.usual(config.length_ratio_deviations)


def encode_split(
    text: CleanText,
    folder: pathlib.Path,
    split: str,
    tokenizers: tuple[Tokenizer, Tokenizer],
    config: DataConfig,
    progress: Callable[[int], None],
    usual: UsualRatios | None,
) -> tuple[dict, TokenCounts]:
    """Writes the records of one split, of dev also the text.

    Only training pairs are checked for their length ratio.

    Args:
        text: what to encode; pairs left out here are added to its report.
        folder: where the shards and the lengths file go.
        split: "train" or "dev", the first part of their names.
        tokenizers: of the source and of the target.
        config: maximum length, length ratio, shard size and seed.
        progress: called with the pairs done so far.
        usual: the length ratios that training pairs may have; None: any.

    Returns:
        The split's part of the manifest, and its tokens counted.
    """
    counts = TokenCounts()
    is_dev = split == "dev"
    done = 0
    with contextlib.ExitStack() as stack:
        writer = stack.enter_context(
            SplitWriter(
                folder, split, text.pairs, config.shard_size, config.seed
            )
        )
        text_file = is_dev and stack.enter_context(
            open(folder / DEV_PAIRS, "w", encoding="utf-8", newline="\n")
        )
        for chunk, ids, lengths in _tokenized(text, tokenizers):
            kept = keep_by_length(
                *lengths, config, text.report, not is_dev, usual
            )
            sides = [tf.ragged.boolean_mask(side, kept) for side in ids]
            writer.write(*(side.to_list() for side in sides))
            counts.add(*sides)
            if text_file:
                write_pairs(text_file, itertools.compress(chunk, kept))
            done += len(chunk)
            progress(done)
        described = writer.finish()
    if is_dev:
        described["text"] = describe_file(folder / DEV_PAIRS)
    return described, counts


def _tokenized(text, tokenizers) -> Iterator[tuple]:
    """Chunks of pairs, the ids of both sides, and how many they are."""
    for chunk in text.chunks():
        ids = [
            tokenizer.tokenize(tf.constant(lines))
            for tokenizer, lines in zip(
                tokenizers, zip(*chunk, strict=True), strict=True
            )
        ]
        yield chunk, ids, [side.row_lengths().numpy() for side in ids]
