"""Scoring of a test set: its texts, and the settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from keras_transformer.blank import is_blank
from keras_transformer.config import Config
from keras_transformer.data.corpus import Pair, Pairs, sentence_pairs
from keras_transformer.errors import InputError, require_kind
from keras_transformer.evaluation.significance import (
    Comparison,
    Resampling,
    compare,
)
from keras_transformer.languages import is_simplified_chinese
from keras_transformer.text.chinese import simplify


class Configured(Protocol):
    """Anything with the configuration of a run."""

    @property
    def config(self) -> Config:
        """The configuration as resolved when the run began."""


class Texts(NamedTuple):
    """Texts that were compared, line by line.

    Attributes:
        sources: as given.
        references: as given, or in simplified Chinese.
        translations: the model's.
    """

    sources: list[str]
    references: list[str]
    translations: list[str]


@dataclasses.dataclass(frozen=True)
class Scoring:
    """Settings of BLEU, chrF and their intervals.

    Attributes:
        tokenize: a tokenizer of sacreBLEU's for BLEU; None: the language's.
        lowercase: whether to ignore case.
        resampling: of the intervals; None: the defaults, but no intervals if
            they would take too much memory.
    """

    tokenize: str | None = None
    lowercase: bool = False
    resampling: Resampling | None = None

    def __post_init__(self) -> None:
        require_kind(self.tokenize, str, "tokenize")
        require_kind(self.resampling, Resampling, "resampling")

    def compare(
        self,
        systems: Mapping[str, Sequence[str]],
        references: Sequence[str],
        language: str,
        tests: Sequence[str] = (),
    ) -> Comparison:
        """`significance.compare` with these settings."""
        resampling = self.resampling or Resampling()
        if not (self.resampling or tests or resampling.fits(len(references))):
            resampling = dataclasses.replace(resampling, resamples=0)
        return compare(
            systems,
            references,
            language,
            tests=tests,
            tokenize=self.tokenize,
            lowercase=self.lowercase,
            resampling=resampling,
        )


def text_columns(run: Configured, pairs: Pairs) -> tuple[list[str], list[str]]:
    """The sources and references of pairs on which a run is measured.

    Leaves out pairs with a blank side, which have nothing to measure.

    Args:
        run: a run, or anything else with a run's `config`.
        pairs: see `sentence_pairs`.

    Raises:
        InputError: there is no pair, none with two sides of text, or a file
            can't be read.
    """
    listed = list(filter(is_measured, sentence_pairs(pairs)))
    if not listed:
        raise InputError("no sentence pair to evaluate on. Accepted: 1 or more")
    sources, references = zip(*listed, strict=True)
    return list(sources), as_references(run, references)


def is_measured(pair: Pair) -> bool:
    """True for a pair of which neither side is blank."""
    return not any(map(is_blank, pair))


def as_references(run: Configured, texts: Iterable[str]) -> list[str]:
    """Converts target texts to simplified Chinese if the run's data was.

    Args:
        run: a run, or anything else with a run's `config`.
        texts: references, or another system's translations.
    """
    data = run.config.data
    if data.simplify_chinese and is_simplified_chinese(data.target_language):
        return list(simplify(texts))
    return list(texts)
