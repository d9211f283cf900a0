"""Distilled data: prepared data whose targets are a teacher's translations.

The sources keep their ids, and the dev split its files. If there are several
shards, the pairs of a source with its original target and its translations are
in different ones, so that a batch rarely has two of them.
"""

import itertools
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
from keras_transformer.data.mixing import LARGEST_WEIGHT
from keras_transformer.data.pipeline import Progress
from keras_transformer.data.prepared import PreparedData, files_of, sealed
from keras_transformer.data.records import (
    Ids,
    count_shards,
    join_lengths,
    parse,
    shard_name,
    write_shard,
)
from keras_transformer.data.selection import TRAIN
from keras_transformer.errors import InputError
from keras_transformer.system.checksums import describe_file, digest
from keras_transformer.system.files import replacing
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.version import versions

DISTILLED = "distilled"  # the manifest's section on the origin of the data
_CHUNK = 4096  # pairs that are tokenized together
# White space at which TensorFlow splits; a token may contain other spaces.
_ASCII_SPACE = re.compile(r"[ \t\n\v\f\r]+")
# Constants of splitmix64 (Steele, Lea and Flood 2014, Fast Splittable
# Pseudorandom Number Generators).
_MULTIPLIERS = np.array([0xBF58476D1CE4E5B9, 0x94D049BB133111EB], np.uint64)
_GOLDEN = (math.sqrt(5) - 1) / 2

# Maps a range of indices to the translations of each source, the best first.
# The list is empty if the source, or all of its translations, were too long for
# the teacher.
Translations = Callable[[int, int], list[list[str]]]


def parse_mix(text: str) -> tuple[float, float]:
    """Parses the weights of original and translated pairs in an epoch.

    They mean the same as the corpus weights of `prepare`.

    Args:
        text: two numbers, such as 1:1.

    Returns:
        the weight of the original pairs, and that of each source with each of
        its translations.

    Raises:
        InputError: the text isn't two numbers, a weight is negative or above
            `LARGEST_WEIGHT`, or the second is 0.
    """
    try:
        original, translated = map(float, text.split(":"))
    except ValueError:
        original = translated = math.nan
    # False for nan and inf, too.
    if not (
        0 <= original <= LARGEST_WEIGHT and 0 < translated <= LARGEST_WEIGHT
    ):
        raise InputError(
            "the mix must be two numbers, ORIGINAL:TRANSLATED, such as 1:1 or "
            f"0.5:1, from 0 and from above 0 to {LARGEST_WEIGHT}. Received: "
            f"{text[:80]}"
        )
    return original, translated


def write_sources(prepared: PreparedData, path: pathlib.Path) -> None:
    """Writes the text of the training sources to a file, a line each.

    Raises:
        OSError: the file can't be written.
        tf.errors.OpError: a shard is damaged.
    """
    tokenizer = prepared.source_tokenizer
    total = sum(prepared.shard_sizes(TRAIN))
    with replacing(path, follow=False) as temporary:
        with temporary.open("w", encoding="utf-8") as file:
            for _, sources, _ in _records(prepared, 0, total):
                for line in source_lines(tokenizer, sources):
                    file.write(f"{line}\n")


def source_lines(tokenizer: Tokenizer, sources: tf.RaggedTensor) -> list[str]:
    """Detokenizes sources to lines that are tokenized to the same ids again.

    This holds unless a token isn't text. A leading language code, which
    `detokenize` omits, is kept.

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
        # Tokens may be bytes, including line ends.
        words = _ASCII_SPACE.split(text.decode("utf-8", "replace"))
        line = " ".join(word for word in words if word)
        lines.append(codes.get(first, "") + line)
    return lines


class DistilledData:
    """Creates distilled data from translations, and counts pairs.

    Args:
        prepared: the original data.
        translations: of its training sources.
        n_best: maximum number of translations of a source.
        mix: weights of pairs in an epoch, see `parse_mix`.
        progress: called with (stage, pairs done, total).
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
        report = CleaningReport()
        original, translated = mix
        self._originals = _Column(-1, original, CleaningReport())
        self._ranks = [_Column(n, translated, report) for n in range(n_best)]
        self._columns = [self._originals, *self._ranks]

    def write(self, folder: pathlib.Path) -> dict:
        """Writes all files except the manifest.

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
        for column in self._columns[:2]:  # All ranks share a report.
            report.add(column.report)
        require_pairs(report, TRAIN)
        splits = prepared.manifest["splits"] | {
            TRAIN: {"pairs": report.kept, "lengths": lengths, "shards": shards}
        }
        for split in splits.keys() - {TRAIN}:
            for name in (file["name"] for file in files_of(splits[split])):
                shutil.copyfile(prepared.path / name, folder / name)
        before = prepared.report
        return {
            "counts": prepared.counts | {TRAIN: report.kept},
            "report": {
                **before,
                "cleaning": before["cleaning"] | {TRAIN: report.to_dict()},
                "corpora": [
                    _describe("original targets", [self._originals]),
                    _describe("translations", self._ranks),
                ],
            },
            "splits": splits,
        }

    def _write_training(self, folder):
        """Writes records and lengths, and returns their descriptions."""
        sources = sum(self._prepared.shard_sizes(TRAIN))
        weights = sum(column.weight for column in self._columns)
        count = count_shards(sources * weights)
        count = min(max(1, count), sources)
        work = folder / "work"
        work.mkdir()
        described, lengths = [], []
        for shard in range(count):
            path = folder / shard_name(TRAIN, shard, count)
            table = write_shard(path, self._pairs(shard, count, sources))
            described.append(describe_file(path) | {"pairs": len(table)})
            lengths.append(work / f"{shard:06d}.npy")
            np.save(lengths[-1], table)
            end = sources * (shard + 1) // count
            self._progress("writing train", end, sources)
        joined = join_lengths(folder, TRAIN, lengths)
        shutil.rmtree(work)
        return described, joined

    def _pairs(self, shard, count, sources):
        """Yields the pairs of a shard, as two `Ids` each time.

        Each copy of a column is one pass over all sources. The passes start at
        different shards, the n-th one at n golden sections of their number.
        """

        def part(number, column, copy):
            begin = (shard + int(count * (number * _GOLDEN % 1))) % count
            span = (sources * n // count for n in (begin, begin + 1))
            for first, *pairs in _records(self._prepared, *span):
                yield self._chosen(column, copy, first, *pairs)

        passes = [
            (column, copy)
            for column in self._columns
            for copy in range(math.ceil(column.weight))
        ]
        parts = [part(number, *each) for number, each in enumerate(passes)]
        for some in itertools.zip_longest(*parts):
            yield from filter(None, some)

    def _chosen(self, column, copy, first, sources, targets):
        """Selects those of some pairs that a copy of a column contains.

        Args:
            column: `_Column`.
            copy: the number of the copy, from 0.
            first: index of the first pair.
            sources, targets: RaggedTensor int32 `(N, None)`.

        Returns:
            two `Ids` of the kept pairs.
        """
        count = int(sources.nrows())
        rows, texts = np.arange(count), []
        if column.rank >= 0:
            lists = self._translations(first, first + count)
            texts = column.texts(lists, copy, self._config.remove_duplicates)
            rows = rows[[text is not None for text in texts]]
        elif copy == 0:
            column.report.read += count
        drawn = column.drawn(first + rows, copy, len(self._columns))
        rows = rows[drawn]
        sources, targets = Ids.of(sources).take(rows), Ids.of(targets)
        if column.rank < 0:
            return sources, targets.take(rows)
        chosen = [texts[row] for row in rows.tolist()]
        targets = Ids.of(self._prepared.target_tokenizer.tokenize(chosen))
        kept = keep_by_length(
            sources.lengths, targets.lengths, self._config, column.report
        )
        return sources.only(kept), targets.only(kept)


class _Column:
    """Targets, one for each source: originals, or translations of one rank.

    Attributes:
        left: number of targets that aren't missing or repeated.

    Args:
        rank: of the translation, from 0, the best; -1: the originals.
        weight: average number of copies of a pair in an epoch.
        report: counts the pairs.
    """

    def __init__(self, rank: int, weight: float, report: CleaningReport):
        self.rank = rank
        self.weight = weight
        self.report = report
        self.left = 0

    def drawn(self, indices, copy, columns):
        """Marks the pairs that a copy contains by the weight; updates counts.

        Args:
            indices: of the sources, int64 `(N,)`.
            copy: the number of the copy, from 0.
            columns: the number of columns.

        Returns:
            bool `(N,)`.
        """
        keys = indices * columns + self.rank + 1
        drawn = repetitions(keys, self.weight) > copy
        if copy:
            self.report.repeated += int(drawn.sum())
        else:
            self.left += len(drawn)
            self.report.drop("not_sampled", int((~drawn).sum()))
        return drawn

    def texts(self, lists, copy, distinct):
        """The translations of this rank; None for a missing one.

        Args:
            lists: the translations of each source.
            copy: the number of the copy, from 0; only copy 0 counts pairs.
            distinct: True removes translations that equal a better one.
        """
        rank = self.rank
        texts = [texts[rank] if rank < len(texts) else None for texts in lists]
        repeated = [
            distinct and text is not None and text in better[:rank]
            for text, better in zip(texts, lists, strict=True)
        ]
        if copy == 0:
            # A source without translations counts as one pair.
            missing = texts.count(None) if rank == 0 else 0
            self.report.read += len(texts) - texts.count(None) + missing
            self.report.drop("over_long", missing)
            self.report.drop("duplicate", sum(repeated))
        return [
            None if is_repeated else text
            for text, is_repeated in zip(texts, repeated, strict=True)
        ]


def repetitions(keys: np.ndarray, weight: float) -> np.ndarray:
    """The number of copies of each pair in an epoch, int64 `(N,)`.

    Args:
        keys: int64 or uint64 `(N,)`, of the pairs.
        weight: the average number of copies.
    """
    # Hashed, as a sample by the keys themselves would be one range of pairs.
    draws = _mixed(keys.astype(np.uint64)) / 2.0**64
    return math.floor(weight) + (draws < weight % 1).astype(np.int64)


def _mixed(values):
    """Hashes of uint64 `(N,)` by the final steps of splitmix64."""
    values = (values ^ (values >> np.uint64(30))) * _MULTIPLIERS[0]
    values = (values ^ (values >> np.uint64(27))) * _MULTIPLIERS[1]
    return values ^ (values >> np.uint64(31))


def distilled_manifest(
    prepared: PreparedData, parts: dict, described: dict
) -> dict:
    """The manifest of distilled data.

    Args:
        prepared: the original data.
        parts: the result of `DistilledData.write`.
        described: the other inputs.
    """
    files = [shard["sha256"] for shard in parts["splits"][TRAIN]["shards"]]
    content = json.dumps([prepared.fingerprint, files])
    manifest = {
        **prepared.manifest,
        **parts,
        "fingerprint": digest(content.encode()),
        "versions": versions(),
        DISTILLED: described,
    }
    # As it will be read: with lists instead of tuples.
    return sealed(json.loads(json.dumps(manifest)))


def _describe(name, columns):
    """Describes columns that share a report, like `Mixture.describe`."""
    report = columns[0].report
    return {
        "name": name,
        "tag": None,
        "weight": columns[0].weight,
        "read": report.read,
        "left": sum(column.left for column in columns),
        "trained": report.kept,
    }


def _records(prepared, begin, end):
    """Yields a range of training pairs, in parts.

    Yields:
        the index of the first pair, and RaggedTensors int32 `(N, None)` of both
        sides.
    """
    first = 0
    sizes = prepared.shard_sizes(TRAIN)
    for path, size in zip(prepared.files(TRAIN), sizes, strict=True):
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
