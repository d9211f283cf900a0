"""Cleaning: which pairs are kept, and a count for each reason they aren't.

The checks, in their order; a pair is counted under the first that it fails:

1. `empty`: a side has no text, or no token.
2. `wrong_script`: a side isn't in its language's script (option).
3. `copied`: both sides are the same text (option).
4. `leaked`: a held-out file has the pair too, or a side of it (option).
5. `duplicate`: the same cleaned pair came before (option).
6. `repeated_side`: one side came before often enough (option).
7. `over_long`: a side has more than `max_length` tokens.
8. `length_ratio`: the longer side has more than `max_length_ratio` times the
   tokens of the shorter (option).
9. `ratio_outlier`: the sides' lengths are in a ratio that is unusual in this
   corpus (option; see `UsualRatios`).

The first six need text alone and run before the tokenizers exist; the others
count tokens and run after.
"""

import collections
import itertools
from collections.abc import Callable, Sequence

import numpy as np

from keras_transformer.config import DataConfig
from keras_transformer.data.length_ratio import UsualRatios
from keras_transformer.data.seen import Pair
from keras_transformer.data.text_checks import Check

REASONS = (
    "empty",
    "wrong_script",
    "copied",
    "leaked",
    "duplicate",
    "repeated_side",
    "over_long",
    "length_ratio",
    "ratio_outlier",
)


class CleaningReport:
    """Counts of the pairs read, kept and dropped, by reason."""

    def __init__(self):
        self.read = 0
        self.dropped = collections.Counter({reason: 0 for reason in REASONS})

    @property
    def kept(self) -> int:
        return self.read - self.dropped.total()

    def drop(self, reason: str, count: int = 1):
        self.dropped[reason] += count

    def to_dict(self) -> dict:
        """`read`, `kept` and one count per reason, in the checks' order."""
        counts = {reason: self.dropped[reason] for reason in REASONS}
        return {"read": self.read, "kept": self.kept, **counts}

    def __str__(self):
        return ", ".join(f"{k} {v}" for k, v in self.to_dict().items())


def clean_pairs(
    pairs: Sequence[Pair],
    clean_source: Callable[[list[str]], list[str]],
    clean_target: Callable[[list[str]], list[str]],
    report: CleaningReport,
    checks: Sequence[tuple[str, Check]] = (),
) -> list[Pair]:
    """Cleans the text of some pairs; drops empty ones and what checks refuse.

    Args:
        pairs: raw (source, target) pairs.
        clean_source: maps stripped source lines to the lines to be kept.
        clean_target: the same for the target.
        report: counts are added here.
        checks: from `text_checks`, the same for all pairs of a corpus.
    """
    report.read += len(pairs)
    sources = clean_source([_plain(source) for source, _ in pairs])
    targets = clean_target([_plain(target) for _, target in pairs])
    cleaned = [pair for pair in zip(sources, targets, strict=True) if all(pair)]
    report.drop("empty", len(pairs) - len(cleaned))
    for reason, check in checks:
        kept = check(cleaned)
        report.drop(reason, len(cleaned) - int(kept.sum()))
        cleaned = list(itertools.compress(cleaned, kept))
    return cleaned


def keep_by_length(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    config: DataConfig,
    report: CleaningReport,
    check_ratio: bool = True,
    usual: UsualRatios | None = None,
) -> np.ndarray:
    """Which pairs pass the checks that count tokens.

    Args:
        source_lengths: int [N], tokens of each source.
        target_lengths: int [N], tokens of each target.
        config: gives `max_length` and `max_length_ratio`.
        report: counts are added here.
        check_ratio: False leaves `max_length_ratio` out.
        usual: the ratios of the corpus; None: any.

    Returns:
        bool [N].
    """
    shorter = np.minimum(source_lengths, target_lengths)
    longer = np.maximum(source_lengths, target_lengths)
    empty = shorter == 0
    over_long = ~empty & (longer > config.max_length)
    uneven = np.zeros_like(empty)
    if check_ratio and config.max_length_ratio:
        uneven = longer > config.max_length_ratio * shorter
        uneven &= ~(empty | over_long)
    kept = ~(empty | over_long | uneven)
    unusual = np.zeros_like(empty)
    if usual is not None:
        unusual[kept] = usual.outliers(
            source_lengths[kept], target_lengths[kept]
        )
    report.drop("empty", int(empty.sum()))
    report.drop("over_long", int(over_long.sum()))
    report.drop("length_ratio", int(uneven.sum()))
    report.drop("ratio_outlier", int(unusual.sum()))
    return kept & ~unusual


def _plain(text):
    # A tab inside a line of one of two files would be a column in a TSV.
    return text.replace("\t", " ").replace("\r", " ").strip()
