"""Encoded text: the text of the shards to tokenizers and records."""

import collections
import pathlib
import shutil
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from keras_transformer.config.data import DataConfig
from keras_transformer.constants import SIDES
from keras_transformer.data.cleaning import CleaningReport
from keras_transformer.data.corpus import Pair
from keras_transformer.data.corpus_tokenizers import build_tokenizers
from keras_transformer.data.prepared import (
    DEV_PAIRS,
    SOURCE_TOKENIZER,
    TARGET_TOKENIZER,
)
from keras_transformer.data.records import join_lengths
from keras_transformer.data.sorted_text import Do, Progress, require_pairs
from keras_transformer.system.checksums import describe_file
from keras_transformer.text.tokenizer import Tokenizer

_SHOWN = 4096  # pairs between reports of progress


class EncodedText:
    """The steps from the text of the shards to prepared data.

    Args:
        folder: where it will be, with the text in its folder `work`.
        config: of the data.
        do: see `sorted_text.Do`.
        training_text: gives the pairs of a shard of training, in order.
        shards: how many each split has.
        reports: the counts of cleaning, by split; added to.
        progress: called with (stage, pairs done, how many).
    """

    def __init__(
        self,
        folder: pathlib.Path,
        config: DataConfig,
        do: Do,
        training_text: Callable[[int], Iterator[Pair]],
        shards: Mapping[str, int],
        reports: Mapping[str, CleaningReport],
        progress: Progress,
    ) -> None:
        self._folder = folder
        self._work = folder / "work"
        self._config = config
        self._do = do
        self._training_text = training_text
        self._shards = shards
        self._reports = reports
        self._progress = progress

    def build_tokenizers(
        self, counts: Mapping[str, collections.Counter]
    ) -> tuple[Tokenizer, Tokenizer]:
        """New tokenizers of the training text.

        Args:
            counts: of the tokens of sides that have a vocabulary of words or
                characters.
        """
        return build_tokenizers(self._config, self._sentences, counts)

    def _sentences(self, side: int) -> Iterator[str]:
        done, total = 0, self._reports["train"].kept
        stage = f"{SIDES[side]} vocabulary"
        for shard in range(self._shards["train"]):
            for pair in self._training_text(shard):
                if done % _SHOWN == 0:
                    self._progress(stage, done, total)
                done += 1
                yield pair[side]

    def encode(self) -> tuple[dict, dict[str, dict[str, float]]]:
        """Writes the records of all splits, of dev also the text.

        Returns:
            The `splits` of the manifest, and the share of unknown tokens, by
            split and side.

        Raises:
            InputError: nothing is left of a split.
        """
        splits, unknown = {}, {}
        for split in self._reports:
            splits[split], tokens = self._encode_split(split)
            shares = tokens[:, 1] / np.maximum(tokens[:, 0], 1)
            unknown[split] = dict(zip(SIDES, shares.tolist(), strict=True))
        return splits, unknown

    def _encode_split(self, split):
        """The split's part of the manifest, and its tokens counted."""
        report, shards = self._reports[split], self._shards[split]
        total = report.kept
        tasks = (("encode", split, n, shards) for n in range(shards))
        described, tokens = [], np.zeros((2, 2), np.int64)
        for encoded in self._do(tasks):
            described.append(encoded.description)
            report.add(0, encoded.dropped)
            tokens += encoded.tokens
            done = total * len(described) // shards
            self._progress(f"writing {split}", done, total)
        require_pairs(report, split)
        lengths = self._numbered(f"{split}-{{:06d}}.npy", shards)
        result = {
            "pairs": report.kept,
            "lengths": join_lengths(self._folder, split, lengths),
            "shards": described,
        }
        if split == "dev":
            texts = self._numbered("dev-{:06d}.tsv", shards)
            result["text"] = _join(texts, self._folder / DEV_PAIRS)
        return result, tokens

    def _numbered(self, name, count):
        return [self._work / name.format(number) for number in range(count)]


def save_tokenizers(
    tokenizers: tuple[Tokenizer, Tokenizer], folder: pathlib.Path
) -> None:
    """Puts both tokenizers into prepared data."""
    names = (SOURCE_TOKENIZER, TARGET_TOKENIZER)
    for name, tokenizer in zip(names, tokenizers, strict=True):
        tokenizer.save(folder / name)


def _join(parts, path):
    """Joins files to one, which is described."""
    with path.open("wb") as file:
        for part in parts:
            with part.open("rb") as content:
                shutil.copyfileobj(content, file)
    return describe_file(path)
