"""Pipeline: the steps from corpora to records, and their counts.

Pairs are cleaned block by block into tables on disk; the queries of
`data.selection` select pairs by their keys, and sort their text into the order
of the shards, which are encoded one by one. No step holds more than a block, a
shard or the database's limit, so memory doesn't grow with the corpus.
"""

import collections
import itertools
import pathlib
import shutil
from collections.abc import Callable, Iterator

import numpy as np

from keras_transformer.config.data import SUBWORD_KINDS, DataConfig
from keras_transformer.constants import SIDES, SPECIAL_TOKENS
from keras_transformer.data.alignment import AlignmentModel
from keras_transformer.data.cleaning import (
    ALIGNMENT,
    Cleaner,
    CleaningReport,
    require_pairs,
)
from keras_transformer.data.corpus_tokenizers import (
    build_tokenizers,
    vocabulary_size,
)
from keras_transformer.data.database import CHUNK
from keras_transformer.data.engines import ALIGNMENT_MODEL, Engine
from keras_transformer.data.masking import COUNTS, TERM_COUNTS, symbol_writer
from keras_transformer.data.mixing import Mixture, WeightedCorpus
from keras_transformer.data.prepared import DEV_PAIRS
from keras_transformer.data.records import count_shards, join_lengths
from keras_transformer.data.selection import (
    DEV,
    HELD_OUT,
    PAIRS,
    TRAIN,
    Step,
    cleaning_steps,
    dev_steps,
    overlap_query,
    pair_keys,
    places_query,
    text_query,
    without_tags,
)
from keras_transformer.data.word_alignment import WordLinks
from keras_transformer.documents.glossary import Glossary
from keras_transformer.errors import InputError
from keras_transformer.system.checksums import describe_file
from keras_transformer.text.tokenizer import Tokenizer

# Called with (stage, pairs done, total or None).
Progress = Callable[[str, int, int | None], None]
_KEYS = {"source_key": "BIGINT", "target_key": "BIGINT"}
_DEV_ROWS = {
    **_KEYS,
    "number": "BIGINT",
    "source": "STRING",
    "target": "STRING",
}
_COPIES = dict.fromkeys(("corpus", "copy", "last", "shift"), "BIGINT")


class Pipeline:
    """The steps of preparing data, to be called in their order.

    Attributes:
        reports: the counts of cleaning, by split.
        mixture: of the corpora, once they are read.

    Args:
        engine: executes the steps.
        folder: of the prepared data, with a subfolder `work` for temporary
            files.
        config: of the data.
        progress: called with (stage, pairs done, total or None).
    """

    def __init__(
        self,
        engine: Engine,
        folder: pathlib.Path,
        config: DataConfig,
        progress: Progress,
    ) -> None:
        self.reports = {TRAIN: CleaningReport()}
        self._engine = engine
        self._tables = engine.tables
        self._folder = folder
        self._config = config
        self._progress = progress
        self._texts: dict[str, str] = {}  # queries, by split
        self._shards: dict[str, int] = {}

    def hold_out(
        self, held_out: list[WeightedCorpus], dev: WeightedCorpus | None
    ) -> None:
        """Reads held-out files and a dev file.

        Empty pairs of the dev file are dropped; the others keep their order.

        Raises:
            InputError: a file can't be used, or no dev pair is left.
        """
        table = HELD_OUT if dev is None else "other_held_out"
        # Over-long lines are emptied, and exclude no training pair.
        pairs = itertools.chain.from_iterable(
            corpus.pairs([]) for corpus in held_out
        )
        self._tables.fill(table, _KEYS, map(self._keys, _chunks(pairs)))
        if dev is None:
            return
        self._tables.fill(DEV, _DEV_ROWS, self._dev_rows(dev))
        keys = f"SELECT {', '.join(_KEYS)} FROM"
        both = f"{keys} {table} UNION ALL {keys} {DEV}"
        self._tables.make(Step(HELD_OUT, both))

    def _dev_rows(self, dev):
        report = self.reports[DEV] = CleaningReport()
        clean = Cleaner(self._config, check=False)
        long: list[int] = []
        for pairs in _chunks(dev.pairs(long)):
            number = report.kept
            pairs = clean(pairs, report)
            yield {
                **self._keys(pairs),
                "number": number + np.arange(len(pairs)),
                "source": [source for source, _ in pairs],
                "target": [target for _, target in pairs],
            }
            self._progress("reading dev", report.read, None)
        report.drop_long_lines(len(long))
        require_pairs(report, str(dev))

    def _keys(self, pairs):
        keys = pair_keys(pairs, self._config.seed)
        return {name: keys[name] for name in _KEYS}

    def read(self, corpora: list[WeightedCorpus]) -> None:
        """Reads and cleans the corpora.

        Raises:
            InputError: a file can't be used, or no pair is left.
        """
        report = self.reports[TRAIN]
        self.mixture = Mixture(corpora)
        for corpus, cleaned in self._engine.clean(corpora):
            report.add(cleaned)
            self.mixture.read[corpus] += cleaned.read
            self._progress("reading train", report.read, None)
        require_pairs(report, " ".join(str(c.file) for c in corpora))

    def select(self, fraction: float | None) -> int | None:
        """Selects the pairs of training and of dev.

        Args:
            fraction: fraction of the pairs for dev; None: no pairs.

        Returns:
            If there is a dev file, the number of its pairs of which a side is
            in training; else None.

        Raises:
            InputError: a split is empty.
        """
        report = self.reports[TRAIN]
        table, pairs = PAIRS, report.kept
        for step in cleaning_steps(self._config):
            left = self._tables.make(step)
            report.drop(str(step.reason), pairs - left)
            if table != PAIRS:
                self._tables.drop(table)
            table, pairs = step.table, left
        require_pairs(report, TRAIN)
        overlap = None
        if fraction is not None:
            self._take_dev(table, pairs, fraction)
            places = f"SELECT id, shuffle_key AS place FROM {DEV}"
            self._texts[DEV] = text_query(places)
            table = TRAIN
        elif DEV in self.reports:
            overlap = self._tables.number(overlap_query(table, DEV))
            # In the file's order, spread evenly over the range of places.
            distance = 2**63 // self.reports[DEV].kept
            self._texts[DEV] = (
                f"SELECT number * {distance} AS place, source, target "
                f"FROM {DEV} ORDER BY place"
            )
        self._weigh(table)
        for split, each in self.reports.items():
            self._shards[split] = count_shards(each.kept)
        return overlap

    def _take_dev(self, table, pairs, fraction):
        """Creates the tables of the splits."""
        counts = {
            step.table: self._tables.make(step)
            for step in dev_steps(table, pairs, fraction)
        }
        dev, train = counts[DEV], counts[TRAIN]
        if not dev or not train:
            raise InputError(
                f"dev fraction {fraction:g} of {pairs} pairs leaves a split "
                "empty. Accepted: a fraction that holds out a sentence or "
                "more whose translations few others have, or a file"
            )
        report = self.reports[TRAIN]
        report.drop("shared_with_dev", pairs - dev - train)
        report.read -= dev
        self.reports[DEV] = CleaningReport()
        self.reports[DEV].read = dev

    def _weigh(self, table):
        """Determines the pairs of an epoch by the weights of corpora."""
        report, mixture = self.reports[TRAIN], self.mixture
        mixture.weigh(self._by_corpus(table), self._config.temperature)
        self._tables.fill("copies", _COPIES, mixture.copies())
        places = places_query(table)
        self._texts[TRAIN] = text_query(places)
        mixture.trained = self._by_corpus(f"({places}) AS places")
        first = f"({places}) AS places WHERE copy = 0"
        sampled = self._tables.number(f"SELECT count(*) FROM {first}")
        report.repeated = sum(mixture.trained) - sampled
        report.drop("not_sampled", sum(mixture.left) - sampled)
        require_pairs(report, TRAIN)

    def _by_corpus(self, table):
        """The number of pairs of each corpus in a table."""
        corpora, pairs = self._tables.arrays(
            f"SELECT corpus, count(*) AS pairs FROM {table} GROUP BY corpus"
        )
        counts = np.zeros(len(self.mixture.read), np.int64)
        counts[corpora] = pairs
        return counts.tolist()

    def sort(self) -> None:
        """Sorts the selected text into the order of the shards."""
        total = self.reports[TRAIN].kept
        self._progress("sorting", 0, total)
        for split, query in self._texts.items():
            self._engine.sort(split, query)
        self._progress("sorting", total, total)
        self._engine.remove_tables()

    def put_symbols(
        self, glossary: Glossary | None
    ) -> dict[str, dict[str, int]]:
        """Masks markup in training, and annotates terms in its sources.

        Args:
            glossary: terms that are annotated in addition to phrases of the
                corpus.

        Returns:
            counts of `markup`, see `COUNTS`, and `terms`, see `TERM_COUNTS`;
            empty for a step that isn't requested.
        """
        config, shards = self._config, self._shards[TRAIN]
        reports: dict[str, dict[str, int]] = {"markup": {}, "terms": {}}
        if config.markup == "keep":
            return reports
        self._progress("linking words", 0, None)
        texts = map(self._engine.training_text, SIDES)
        links = WordLinks.learn(
            (without_tags(source), target)
            for source, target in zip(*texts, strict=True)
        )
        reports["markup"] = dict.fromkeys(COUNTS, 0)
        if config.term_share:
            reports["terms"] = dict.fromkeys(TERM_COUNTS, 0)
        total = self.reports[TRAIN].kept
        writer = symbol_writer(config, links, glossary)
        parts = self._engine.rewrite(TRAIN, shards, writer)
        for part, done in enumerate(parts, start=1):
            for counts in reports.values():
                for name in counts:
                    counts[name] += done[name]
            self._progress("writing symbols", total * part // shards, total)
        return reports

    def build_tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        """Trains tokenizers on the training text."""
        counts = {
            side: self._most_frequent(side)
            for side in SIDES
            if getattr(self._config, f"{side}_kind") not in SUBWORD_KINDS
        }
        return build_tokenizers(self._config, self._sentences, counts)

    def _most_frequent(self, side):
        """Counts of the most frequent tokens, as many as the vocabulary may
        have.
        """
        total, shards = self.reports[TRAIN].kept, self._shards[TRAIN]
        for done, _ in enumerate(self._engine.count(side, shards), start=1):
            self._progress(f"{side} vocabulary", total * done // shards, total)
        # More by the reserved ones, which the text may contain.
        config = self._config
        reserved = (*SPECIAL_TOKENS, *config.source_tags, *config.symbols)
        limit = vocabulary_size(config, side) + len(reserved)
        tokens, counts = self._tables.arrays(
            f"SELECT token, CAST(sum(n) AS BIGINT) AS total FROM {side}_tokens "
            f"GROUP BY token ORDER BY total DESC, token LIMIT {limit}"
        )
        pairs = zip(tokens.tolist(), counts.tolist(), strict=True)
        return collections.Counter(dict(pairs))

    def _sentences(self, side: int) -> Iterator[str]:
        total = self.reports[TRAIN].kept
        stage = f"{SIDES[side]} vocabulary"
        for done, text in enumerate(self._engine.training_text(SIDES[side])):
            if done % CHUNK == 0:
                self._progress(stage, done, total)
            yield text

    def learn_alignment(
        self, tokenizers: tuple[Tokenizer, Tokenizer]
    ) -> float | None:
        """Learns the model of the filter `alignment`, if it is requested.

        Returns:
            the limit of scores; None if no pair will be dropped.
        """
        if ALIGNMENT not in self._config.filters:
            return None
        self._progress("aligning", 0, None)
        texts = map(self._engine.training_text, SIDES)
        model = AlignmentModel.learn(
            zip(*texts, strict=True), *tokenizers, self._config.max_length
        )
        model.save(self._folder / ALIGNMENT_MODEL)
        return model.limit if np.isfinite(model.limit) else None

    def encode(self) -> tuple[dict, dict[str, dict[str, float]]]:
        """Writes the records of all splits, and the text of dev.

        Returns:
            The `splits` of the manifest, and the share of unknown tokens, by
            split and side.

        Raises:
            InputError: nothing is left of a split.
        """
        splits, unknown = {}, {}
        for split in self.reports:
            splits[split], tokens = self._encode_split(split)
            shares = tokens[:, 1] / np.maximum(tokens[:, 0], 1)
            unknown[split] = dict(zip(SIDES, shares.tolist(), strict=True))
        return splits, unknown

    def _encode_split(self, split):
        """Encodes a split; returns its part of the manifest, token counts."""
        report, shards = self.reports[split], self._shards[split]
        total = report.kept
        described, tokens = [], np.zeros((2, 2), np.int64)
        for shard in self._engine.encode(split, shards):
            described.append(shard.description)
            report.add(shard.report)
            tokens += shard.tokens
            done = total * len(described) // shards
            self._progress(f"writing {split}", done, total)
        require_pairs(report, split)
        work = self._folder / "work"
        lengths = [work / f"{split}-{n:06d}.npy" for n in range(shards)]
        result = {
            "pairs": report.kept,
            "lengths": join_lengths(self._folder, split, lengths),
            "shards": described,
        }
        if split == DEV:
            texts = [work / f"dev-{n:06d}.tsv" for n in range(shards)]
            result["text"] = _join(texts, self._folder / DEV_PAIRS)
        return result, tokens


def _chunks(pairs):
    """The pairs in order, in lists of up to `CHUNK`."""
    pairs = iter(pairs)
    return iter(lambda: list(itertools.islice(pairs, CHUNK)), [])


def _join(parts, path):
    """Joins files to one, and returns its description."""
    with path.open("wb") as file:
        for part in parts:
            with part.open("rb") as content:
                shutil.copyfileobj(content, file)
    return describe_file(path)
