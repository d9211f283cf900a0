"""Mixing: combines corpora, each with a weight and optionally a tag.

With weight 2 each pair occurs twice in an epoch; 0.3 is a sample of 30 % of the
pairs; 2.3 is two copies and such a sample. The sample depends only on the pairs
and the seed: it is the same in each epoch and process, whatever the order of
the files. Weights apply to the training pairs that are left of a corpus after
cleaning, deduplication and the dev split.

With a temperature T above 1, languages with few pairs are trained on more
often: shares are proportional to n^(1/T), n being the pairs of a language
(Arivazhagan et al. 2019, Massively Multilingual Neural Machine Translation in
the Wild). No pair is dropped by this: the largest language isn't changed, and
the others are repeated.
"""

import collections
import dataclasses
import math
import os
import pathlib
import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from keras_transformer.blank import is_blank
from keras_transformer.config.data import DataConfig
from keras_transformer.constants import TAG, TAG_NAME
from keras_transformer.data.corpus import (
    CorpusFile,
    CorpusSpec,
    Pair,
    file_pairs,
)
from keras_transformer.data.selection import KEY_BITS
from keras_transformer.errors import InputError
from keras_transformer.system.remote import RemotePath

LARGEST_WEIGHT = 1000
_KEYS = 1 << KEY_BITS
_STEP = np.uint64(int(_KEYS * (math.sqrt(5) - 1) / 2))
_TAG_SUFFIX = re.compile(rf"(?s)(.+)#(?:({TAG})|({TAG_NAME}))")
_WEIGHT_SUFFIX = re.compile(r"(?s)(.+)\*([^*]+)")


@dataclasses.dataclass(frozen=True)
class WeightedCorpus:
    """A corpus file, with a weight and a tag.

    Args:
        file: the text.
        weight: above 0; see the module.
        tag: put before each source, such as `<BT>`; None: nothing.

    Raises:
        InputError: the weight is out of range, or the tag isn't valid.
    """

    file: CorpusFile
    weight: float = 1.0
    tag: str | None = None

    def __post_init__(self) -> None:
        if not 0 < self.weight <= LARGEST_WEIGHT:
            raise InputError(
                f"{self.file}: weight {self.weight:g}. Accepted: a number "
                f"above 0, at most {LARGEST_WEIGHT}"
            )
        if self.tag is not None and not re.fullmatch(TAG, self.tag):
            raise InputError(
                f"{self.file}: tag {self.tag!r}. Accepted: letters, digits, "
                "_ and - between < and >"
            )

    @classmethod
    def parse(cls, spec: "WeightedCorpus | CorpusSpec") -> "WeightedCorpus":
        """Parses a user's specification `FILE*WEIGHT#TAG` of a corpus.

        Weight and tag are optional. A name that exists as a whole is a file:
        `a*2` is the file of that name, if there is one, and then `a*2*1` names
        it, too.

        Args:
            spec: see `CorpusFile.parse`; a string may also end with `*WEIGHT`,
                `#TAG` or `*WEIGHT#TAG`, the tag with or without `<>`.

        Raises:
            InputError: see `CorpusFile.parse`, or the weight isn't accepted.
        """
        if isinstance(spec, WeightedCorpus):
            return spec
        if not isinstance(spec, str):
            return cls(CorpusFile.parse(spec))
        name, tag, weight = spec, None, 1.0
        if not _exists(name) and (match := _TAG_SUFFIX.fullmatch(name)):
            name = match[1]
            tag = match[2] or f"<{match[3]}>"
        if not _exists(name) and (match := _WEIGHT_SUFFIX.fullmatch(name)):
            try:
                name, weight = match[1], float(match[2])
            except ValueError:
                pass  # The name contains a *.
        return cls(CorpusFile.parse(name), weight, tag)

    @property
    def paths(self) -> list[pathlib.Path | RemotePath]:
        """The one or two files on disk."""
        return self.file.paths

    def in_languages(self, source: str, target: str) -> "WeightedCorpus":
        """Returns a copy that reads these languages if the file has several."""
        file = dataclasses.replace(self.file, languages=(source, target))
        return dataclasses.replace(self, file=file)

    def settings(self) -> dict:
        """Weight and tag as manifests list them, without default values."""
        settings = {} if self.weight == 1 else {"weight": self.weight}
        return settings | ({"tag": self.tag} if self.tag else {})

    def pairs(self, long: list[int] | None = None) -> Iterator[Pair]:
        """Yields the pairs of the file, with the tag before the sources."""
        return tagged(file_pairs(self.file, long=long), self.tag)

    def __str__(self) -> str:
        weight = "" if self.weight == 1 else f"*{self.weight:g}"
        tag = f"#{self.tag}" if self.tag else ""
        return f"{self.file}{weight}{tag}"


def tagged(pairs: Iterable[Pair], tag: str | None) -> Iterator[Pair]:
    """Puts the tag, unless it is None, before sources that have text."""
    if tag is None:
        return iter(pairs)
    return (
        (f"{tag} {source}" if not is_blank(source) else source, target)
        for source, target in pairs
    )


def _exists(name):
    """True for the name of a file, or names of two separated by a comma."""
    return os.path.exists(name) or all(map(os.path.exists, name.split(",")))


def with_tags(
    config: DataConfig, corpora: Sequence[WeightedCorpus]
) -> DataConfig:
    """Adds the tags of corpora to a configuration's `source_tags`."""
    tags = dict.fromkeys(config.source_tags)
    tags.update((c.tag, None) for c in corpora if c.tag is not None)
    if len(tags) == len(config.source_tags):
        return config
    return dataclasses.replace(config, source_tags=tuple(tags))


class Mixture:
    """The proportions of corpora, and counts of their pairs.

    Attributes:
        weights: the weight of each corpus, with the temperature applied.
        read: pairs read from each corpus.
        left: pairs left by cleaning, deduplication and the dev split.
        trained: pairs of an epoch, including copies, before their lengths are
            checked.

    Args:
        corpora: of the training data.
    """

    def __init__(self, corpora: Sequence[WeightedCorpus]) -> None:
        self._corpora = corpora
        self.weights = [corpus.weight for corpus in corpora]
        self.read = [0] * len(corpora)
        self.left = [0] * len(corpora)
        self.trained = [0] * len(corpora)

    def weigh(self, left: list[int], temperature: float) -> None:
        """Computes the weights.

        Args:
            left: pairs of each corpus.
            temperature: see the module. Corpora with the same tag are one
                language, and each corpus without a tag is another one.
        """
        self.left = left
        languages = [
            i if corpus.tag is None else corpus.tag
            for i, corpus in enumerate(self._corpora)
        ]
        pairs: collections.Counter[int | str] = collections.Counter()
        for language, count in zip(languages, left, strict=True):
            pairs[language] += count
        largest = max(pairs.values())
        self.weights = [
            corpus.weight
            # Gives shares of n^(1/T); the factor of the largest language is 1.
            * ((largest / max(pairs[language], 1)) ** (1 - 1 / temperature))
            for corpus, language in zip(self._corpora, languages, strict=True)
        ]

    def copies(self) -> Iterator[dict[str, np.ndarray]]:
        """Yields rows of the table `copies`, for `selection.places_query`.

        A corpus of weight 2.3 has three copies, numbered by `copy`. Two contain
        all of its pairs, the third those whose key isn't above `last`. Each
        copy's places are moved by `shift`, which grows by a golden section of
        the range of keys from copy to copy.
        """
        for corpus, (weight, left) in enumerate(
            zip(self.weights, self.left, strict=True)
        ):
            numbers = np.arange(math.ceil(weight) if left else 0)
            last = np.full(len(numbers), _KEYS - 1)
            if weight % 1:
                last[-1:] = int(weight % 1 * _KEYS) - 1
            shifts = numbers.astype(np.uint64) * _STEP & np.uint64(_KEYS - 1)
            yield {
                "corpus": np.full(len(numbers), corpus),
                "copy": numbers,
                "last": last,
                "shift": shifts.astype(np.int64),
            }

    def describe(self) -> list[dict]:
        """The entries of the corpora in the report of prepared data."""
        return [
            {
                "name": ",".join(path.name for path in corpus.paths),
                "tag": corpus.tag,
                "weight": self.weights[i],
                "read": self.read[i],
                "left": self.left[i],
                "trained": self.trained[i],
            }
            for i, corpus in enumerate(self._corpora)
        ]
