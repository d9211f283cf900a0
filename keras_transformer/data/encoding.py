"""Cleaned text to records of ids, with the checks that count tokens."""

import contextlib
import pathlib
from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf

from keras_transformer.config import DataConfig
from keras_transformer.constants import UNK_ID
from keras_transformer.data.clean_text import CleanText, write_pairs
from keras_transformer.data.cleaning import CleaningReport, keep_by_length
from keras_transformer.data.length_ratio import RatioMeter, UsualRatios
from keras_transformer.data.records import SplitWriter
from keras_transformer.files import describe_file
from keras_transformer.text.tokenizer import Tokenizer


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

    def unknown_share(self) -> dict[str, float]:
        """Unknown tokens over tokens, `source` and `target`."""
        shares = self._unknown / np.maximum(self._tokens, 1)
        return {"source": float(shares[0]), "target": float(shares[1])}


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
    *,
    check_ratio: bool,
    usual: UsualRatios | None = None,
    text_path: pathlib.Path | None = None,
) -> tuple[dict, TokenCounts]:
    """Writes the records of one split.

    Args:
        text: what to encode; pairs left out here are added to its report.
        folder: where the shards and the lengths file go.
        split: the first part of their names.
        tokenizers: of the source and of the target.
        config: maximum length, length ratio, shard size and seed.
        progress: called with the pairs done so far.
        check_ratio: leave pairs of uneven length out.
        usual: leave pairs of other length ratios out; None: any.
        text_path: a TSV file for the text of the pairs that are kept.

    Returns:
        The split's part of the manifest, and its tokens counted.
    """
    counts = TokenCounts()
    done = 0
    with contextlib.ExitStack() as stack:
        writer = stack.enter_context(
            SplitWriter(
                folder, split, text.pairs, config.shard_size, config.seed
            )
        )
        text_file = text_path and stack.enter_context(
            open(text_path, "w", encoding="utf-8", newline="\n")
        )
        for chunk, ids, lengths in _tokenized(text, tokenizers):
            kept = keep_by_length(
                *lengths, config, text.report, check_ratio, usual
            )
            sides = [tf.ragged.boolean_mask(side, kept) for side in ids]
            writer.write(*(side.to_list() for side in sides))
            counts.add(*sides)
            if text_file:
                pairs = zip(chunk, kept, strict=True)
                write_pairs(text_file, (pair for pair, keep in pairs if keep))
            done += len(chunk)
            progress(done)
        described = writer.finish()
    if text_path:
        described["text"] = describe_file(text_path)
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
