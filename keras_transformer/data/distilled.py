"""Distilled data: prepared data whose targets are a teacher's translations.

The sources keep their ids, the dev split its files. What a source is paired
with, an original target or one of its translations, is far apart in an
epoch, so that a batch hardly has two of them.
"""

import json
import math
import os
import pathlib
import re
import shutil
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from keras_transformer.constants import PAD_ID
from keras_transformer.data.cleaning import (
    CleaningReport,
    keep_by_length,
    require_pairs,
)
from keras_transformer.data.corpus_tokenizers import save_tokenizers
from keras_transformer.data.mixing import repetitions
from keras_transformer.data.pipeline import Progress
from keras_transformer.data.prepared import PreparedData, sealed
from keras_transformer.data.records import (
    Ids,
    join_lengths,
    parse,
    shard_name,
    write_shard,
)
from keras_transformer.system.checksums import describe_file, digest
from keras_transformer.system.files import replacing
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.version import versions

DISTILLED = "distilled"  # the manifest's part on what data was made of
_TRAIN = "train"
_CHUNK = 4096  # pairs that are tokenized together
# What TensorFlow splits at; a token may have another space in it.
_ASCII_SPACE = re.compile(r"[ \t\n\v\f\r]+")
_GOLDEN = (math.sqrt(5) - 1) / 2

# The translations of the sources from one index to another, the best first.
# None of a source that was too long for the teacher, or whose translations
# all were.
Translations = Callable[[int, int], list[list[str]]]


def write_sources(prepared: PreparedData, path: pathlib.Path) -> None:
    """Writes the text of the training sources, a line each, in their order.

    Raises:
        OSError: the file can't be written.
        tf.errors.OpError: a shard is damaged.
    """
    tokenizer = prepared.source_tokenizer
    total = sum(prepared.shard_sizes(_TRAIN))
    with replacing(path, follow=False) as temporary:
        with temporary.open("w", encoding="utf-8") as file:
            for _, sources, _ in _records(prepared, 0, total):
                for line in source_lines(tokenizer, sources):
                    file.write(f"{line}\n")


def source_lines(tokenizer: Tokenizer, sources: tf.RaggedTensor) -> list[str]:
    """Lines that give the same ids again, where the tokens are of text.

    The language code that a source began with is before it, though it is no
    text.

    Args:
        tokenizer: of the sources.
        sources: int32 `(B, ragged)`.
    """
    codes, names = {}, set(tokenizer.language_codes())
    if names:
        tokens = enumerate(tokenizer.tokens())
        codes = {
            id: f"{token[1:]} " for id, token in tokens if token[1:] in names
        }
    firsts = sources[:, :1].to_tensor(PAD_ID, [None, 1])[:, 0]  # (B,)
    lines = []
    for first, text in zip(
        firsts.numpy().tolist(),
        tokenizer.detokenize(sources).numpy(),
        strict=True,
    ):
        # A vocabulary may have bytes for tokens, line ends, too.
        words = _ASCII_SPACE.split(text.decode("utf-8", "replace"))
        line = " ".join(word for word in words if word)
        lines.append(codes.get(first, "") + line)
    return lines


class DistilledData:
    """The steps from translations to distilled data; and the counts.

    Args:
        prepared: the data that it is made of.
        translations: of its training sources.
        n_best: translations of a source, at most.
        mix: how often pairs stand in an epoch, see `parse_mix`.
        progress: called with (stage, pairs done, how many).
    """

    def __init__(
        self,
        prepared: PreparedData,
        translations: Translations,
        n_best: int,
        mix: tuple[float, float],
        progress: Progress,
    ) -> None:
        self._prepared = prepared
        self._config = prepared.config
        self._translations = translations
        self._progress = progress
        self._sources = sum(prepared.shard_sizes(_TRAIN))
        report = CleaningReport()
        original, translated = mix
        self._originals = _Column(None, original, CleaningReport())
        self._ranks = [_Column(n, translated, report) for n in range(n_best)]
        self._columns = [self._originals, *self._ranks]

    def write(self, folder: pathlib.Path) -> dict:
        """Writes all files but the manifest.

        Returns:
            `counts`, `report` and `splits` of the manifest.

        Raises:
            InputError: no pair is left.
            OSError: a file can't be written.
            tf.errors.OpError: a shard is damaged.
        """
        prepared = self._prepared
        tokenizers = prepared.source_tokenizer, prepared.target_tokenizer
        save_tokenizers(tokenizers, folder)
        shards, lengths = self._write_training(folder)
        report = CleaningReport()
        for column in self._columns[:2]:  # All ranks have one report.
            report.add(column.report)
        require_pairs(report, _TRAIN)
        splits = prepared.manifest["splits"] | {
            _TRAIN: {"pairs": report.kept, "lengths": lengths, "shards": shards}
        }
        for name in splits.keys() - {_TRAIN}:
            _copy_split(splits[name], prepared.path, folder)
        before = prepared.report
        return {
            "counts": prepared.counts | {_TRAIN: report.kept},
            "report": {
                **before,
                "cleaning": before["cleaning"] | {_TRAIN: report.to_dict()},
                "corpora": [
                    _describe("original targets", [self._originals]),
                    _describe("translations", self._ranks),
                ],
            },
            "splits": splits,
        }

    def _write_training(self, folder):
        """Writes records and lengths; both as the manifest lists them."""
        weights = sum(column.weight for column in self._columns)
        size = self._config.shard_size
        shards = max(1, math.ceil(self._sources * weights / size))
        shards = min(shards, self._sources)
        work = folder / "work"
        work.mkdir()
        described, lengths = [], []
        for shard in range(shards):
            begin, end = (
                self._sources * n // shards for n in (shard, shard + 1)
            )
            path = folder / shard_name(_TRAIN, shard, shards)
            table = write_shard(path, self._merged(begin, end))
            described.append(describe_file(path) | {"pairs": len(table)})
            lengths.append(work / f"{shard:06d}.npy")
            np.save(lengths[-1], table)
            self._progress("writing train", end, self._sources)
        joined = join_lengths(folder, _TRAIN, lengths)
        shutil.rmtree(work)
        return described, joined

    def _merged(self, begin, end):
        """Yields the pairs at some places of an epoch, two `Ids` at a time.

        Each column goes through all sources once for each of its copies, each
        time from another source on: by so many golden sections of them.
        """
        positions: list = []
        sides: tuple[list, list] = [], []
        passes = [
            (column, copy)
            for column in self._columns
            for copy in range(math.ceil(column.weight))
        ]
        for number, (column, copy) in enumerate(passes):
            shift = int(self._sources * (number * _GOLDEN % 1))
            for span in _moved_back(begin, end, shift, self._sources):
                for first, *pairs in _records(self._prepared, *span):
                    kept, *pairs = self._chosen(column, copy, first, *pairs)
                    positions.append((kept + shift) % self._sources)
                    for side, ids in zip(sides, pairs, strict=True):
                        side.append(ids)
        order = np.argsort(np.concatenate(positions), kind="stable")
        bounds = [*range(0, len(order), _CHUNK), len(order)]
        yield from zip(
            *(Ids.joined(side).take(order).parts(bounds) for side in sides),
            strict=True,
        )

    def _chosen(self, column, copy, first, sources, targets):
        """The pairs that a copy of a column has, of some.

        Args:
            column: `_Column`.
            copy: its number, from 0.
            first: index of the first pair.
            sources, targets: RaggedTensor int32 `(N, None)`.

        Returns:
            the indices of those kept, int64 `(M,)`, and two `Ids` of them.
        """
        sources = Ids.of(sources)
        indices = first + np.arange(len(sources.lengths))
        report = column.report
        if column.rank is None:
            if copy == 0:
                report.read += len(indices)
            drawn = column.drawn(indices, copy, len(self._columns))
            pairs = sources.only(drawn), Ids.of(targets).only(drawn)
            return indices[drawn], *pairs
        lists = self._translations(first, first + len(indices))
        texts = _texts(lists, column, copy, self._config.remove_duplicates)
        given = np.array([text is not None for text in texts], bool)
        drawn = np.flatnonzero(given)
        drawn = drawn[column.drawn(indices[drawn], copy, len(self._columns))]
        chosen = [texts[index] for index in drawn.tolist()]
        sources = sources.take(drawn)
        targets = Ids.of(self._prepared.target_tokenizer.tokenize(chosen))
        kept = keep_by_length(
            sources.lengths, targets.lengths, self._config, report
        )
        return indices[drawn][kept], sources.only(kept), targets.only(kept)


class _Column:
    """Targets, one for each source: originals, or translations of one rank.

    Attributes:
        left: those that aren't empty, over-long or repeated.

    Args:
        rank: of the translation, from 0, the best; None: the originals.
        weight: how often each stands in an epoch.
        report: where they are counted.
    """

    def __init__(self, rank: int | None, weight: float, report: CleaningReport):
        self.rank = rank
        self.weight = weight
        self.report = report
        self.left = 0

    def drawn(self, indices, copy, columns):
        """Marks the pairs that a copy has by its weight, and counts them.

        Args:
            indices: of their sources, int64 `(N,)`.
            copy: its number, from 0.
            columns: how many there are.

        Returns:
            bool `(N,)`.
        """
        rank = -1 if self.rank is None else self.rank
        keys = indices * columns + rank + 1
        times = repetitions(keys, np.full(len(keys), self.weight))
        drawn = times > copy
        if copy:
            self.report.repeated += int(drawn.sum())
        else:
            self.left += len(drawn)
            self.report.drop("not_sampled", int((~drawn).sum()))
        return drawn


def _texts(lists, column, copy, distinct):
    """The translations of a column's rank; None where there is none.

    Args:
        lists: of each source, its translations.
        column: `_Column`; those that are left out are counted, once.
        copy: its number, from 0.
        distinct: True leaves out one that equals a better one.
    """
    rank = column.rank
    texts = [texts[rank] if rank < len(texts) else None for texts in lists]
    repeated = [
        distinct and text is not None and text in better[:rank]
        for text, better in zip(texts, lists, strict=True)
    ]
    if copy == 0:
        # A source without any counts once.
        missing = rank == 0 and texts.count(None)
        column.report.read += len(texts) - texts.count(None) + missing
        column.report.drop("over_long", missing)
        column.report.drop("duplicate", sum(repeated))
    return [
        None if is_repeated else text
        for text, is_repeated in zip(texts, repeated, strict=True)
    ]


def distilled_manifest(
    prepared: PreparedData, parts: dict, described: dict
) -> dict:
    """The manifest of distilled data.

    Args:
        prepared: the data that it was made of.
        parts: what `DistilledData.write` returns.
        described: what else it was made of.
    """
    files = [shard["sha256"] for shard in parts["splits"][_TRAIN]["shards"]]
    content = json.dumps([prepared.fingerprint, files])
    manifest = {
        **prepared.manifest,
        **parts,
        "fingerprint": digest(content.encode()),
        "versions": versions(),
        DISTILLED: described,
    }
    # As it will be read: with lists in place of tuples.
    return sealed(json.loads(json.dumps(manifest)))


def _describe(name, columns):
    """Columns with one report, as `Mixture.describe` has corpora."""
    report = columns[0].report
    return {
        "name": name,
        "tag": None,
        "weight": columns[0].weight,
        "read": report.read,
        "left": sum(column.left for column in columns),
        "trained": report.kept,
    }


def _moved_back(begin, end, shift, count):
    """Places of an epoch as indices of sources: one range or two."""
    start = (begin - shift) % count
    stop = start + end - begin
    if stop <= count:
        return [(start, stop)]
    return [(start, count), (0, stop - count)]


def _records(prepared, begin, end):
    """Yields training pairs from one index to another, in parts.

    Yields:
        the index of the first, and RaggedTensors int32 `(N, None)` of both
        sides.
    """
    first = 0
    sizes = prepared.shard_sizes(_TRAIN)
    for path, size in zip(prepared.files(_TRAIN), sizes, strict=True):
        start, stop = max(begin, first), min(end, first + size)
        if start < stop:
            records = tf.data.TFRecordDataset(os.fsencode(path)).skip(
                start - first
            )
            records = records.take(stop - start).batch(_CHUNK)
            for sources, targets in records.map(parse):
                yield start, sources, targets
                start += int(sources.nrows())
        first += size


def _copy_split(split, source, folder):
    """Copies the files of a split, as its manifest lists them."""
    files = [split["lengths"], *split["shards"]]
    if "text" in split:
        files.append(split["text"])
    for described in files:
        shutil.copyfile(source / described["name"], folder / described["name"])
