"""Cleaning: keeps or drops pairs, and counts the dropped ones by reason.

The checks, in their order; a pair is counted under the first that it fails:

1. `empty`: a side has no text, or no token.
2. `long_line`: a line has more than `max_line_bytes`, and wasn't read.
3. `wrong_script`, `copied`, `wrong_language` and `other_numbers`: by filters
   of `data.filters` (options).
4. `leaked`: a held-out file has the pair too, or a side of it (option).
5. `duplicate`: the corpus has the same cleaned pair already (option).
6. `shared_with_dev`: the dev split that was taken from the corpus has a side
   of it.
7. `not_sampled`: its corpus has a weight, and the fraction of it that is
   trained on leaves the pair out (option).
8. `over_long`: a side has more than `max_length` tokens.
9. `length_ratio`: the longer side has more than `max_length_ratio` times the
   tokens of the shorter (option).
10. `unaligned`: its sides don't translate each other, see `data.alignment`
   (option).

The second is of `data.lines`. The first and the third look at one pair
alone and are here, as are `length_ratio` and the second half of the first,
which look at tokens and run when the tokenizers exist. The others look at all
pairs: see `data.selection`.
"""

import collections
import itertools
from collections.abc import Sequence

import numpy as np

from keras_transformer.blank import is_blank
from keras_transformer.config.data import DataConfig
from keras_transformer.data.corpus import Pair
from keras_transformer.data.filters import text_filters
from keras_transformer.data.keys import fingerprints, without_tags
from keras_transformer.errors import InputError
from keras_transformer.languages import (
    fraction_in_scripts,
    is_simplified_chinese,
    scripts_of_language,
)
from keras_transformer.text.chinese import simplify

REASONS = (
    "empty",
    "long_line",
    "wrong_script",
    "copied",
    "wrong_language",
    "other_numbers",
    "leaked",
    "duplicate",
    "shared_with_dev",
    "not_sampled",
    "over_long",
    "length_ratio",
    "unaligned",
)
# Dropped pairs that a report shows of a reason, and their characters.
_SAMPLES, _SHOWN = 5, 200


class CleaningReport:
    """Counts of the pairs read, kept and dropped, by reason.

    Attributes:
        read: pairs of the files.
        repeated: copies that the weights of corpora add to them.
        dropped: counts by reason.
        samples: of pairs that were dropped for their text, by reason: random
            ones, each after the number that it was drawn by.
    """

    def __init__(self) -> None:
        self.read = 0
        self.repeated = 0
        self.dropped = collections.Counter({reason: 0 for reason in REASONS})
        self.samples: dict[str, list] = {}

    @property
    def kept(self) -> int:
        """Pairs that are left, repetitions counted."""
        return self.read + self.repeated - self.dropped.total()

    def drop(self, reason: str, count: int = 1) -> None:
        """Counts pairs that were dropped for a reason."""
        self.dropped[reason] += count

    def drop_where(
        self, reason: str, failed: np.ndarray, pairs: Sequence[Pair] = ()
    ) -> None:
        """Counts pairs that were dropped for a reason, and keeps samples.

        Args:
            reason: of `REASONS`.
            failed: bool `(N,)`, which ones were.
            pairs: the text of all; none: no samples.
        """
        self.drop(reason, int(failed.sum()))
        if dropped := list(itertools.compress(pairs, failed)):
            numbers = fingerprints(map("\t".join, dropped), "sample").tolist()
            shown = [[text[:_SHOWN] for text in pair] for pair in dropped]
            drawn = zip(numbers, *zip(*shown, strict=True), strict=True)
            self._keep_samples(reason, drawn)

    def _keep_samples(self, reason, drawn):
        drawn = {*self.samples.get(reason, ()), *map(tuple, drawn)}
        # Those of the lowest numbers, whichever come first.
        self.samples[reason] = sorted(drawn)[:_SAMPLES]

    def drop_long_lines(self, count: int) -> None:
        """Counts pairs of over-long lines, dropped as the empty ones left."""
        self.drop("empty", -count)
        self.drop("long_line", count)

    def add(self, other: "CleaningReport") -> None:
        """Adds what was counted in another part of the corpus."""
        self.read += other.read
        self.repeated += other.repeated
        self.dropped.update(other.dropped)
        for reason, drawn in other.samples.items():
            self._keep_samples(reason, drawn)

    def to_dict(self) -> dict:
        """`read`, `kept`, a count for each reason in order, `repeated`."""
        return {
            "read": self.read,
            "kept": self.kept,
            **{reason: self.dropped[reason] for reason in REASONS},
            "repeated": self.repeated,
        }

    def shown_samples(self) -> dict[str, list[list[str]]]:
        """Some pairs of each reason that looks at text, cut if they are long.

        Random ones, the same however the corpus was ordered.
        """
        return {
            reason: [pair for _, *pair in self.samples[reason]]
            for reason in REASONS
            if reason in self.samples
        }

    def __str__(self) -> str:
        return ", ".join(f"{k} {v}" for k, v in self.to_dict().items())


def require_pairs(report: CleaningReport, name: str) -> None:
    """Refuses a text of which nothing is left.

    Raises:
        InputError: no pair was read, or none was kept; then with the counts.
    """
    if report.kept:
        return
    if not report.read:
        raise InputError(f"{name}: no sentence pair. Accepted: one or more")
    raise InputError(f"{name}: no sentence pair is left ({report})")


# Checks of text.


class Cleaner:
    """Cleans the text of pairs, without looking at tokens or other pairs.

    The same pair gives the same text, wherever it is in a corpus.

    Args:
        config: languages, and the checks that are wanted.
        check: False for the dev set, of which only the empty pairs go.
    """

    def __init__(self, config: DataConfig, check: bool = True) -> None:
        languages = config.source_language, config.target_language
        self._simplified = [
            config.simplify_chinese and is_simplified_chinese(language)
            for language in languages
        ]
        self._checks = text_filters(config) if check else {}

    def __call__(
        self, pairs: Sequence[Pair], report: CleaningReport
    ) -> list[Pair]:
        """The pairs that are left, cleaned, in order.

        Args:
            pairs: as they were read.
            report: counts what is read and dropped.
        """
        report.read += len(pairs)
        sources = self._clean([source for source, _ in pairs], 0)
        targets = self._clean([target for _, target in pairs], 1)
        left = [
            pair
            for pair in zip(sources, targets, strict=True)
            if not any(map(is_blank, pair))
        ]
        report.drop("empty", len(pairs) - len(left))
        for reason, passes in self._checks.items():
            kept = np.array(
                [passes((without_tags(s), t)) for s, t in left], bool
            )
            report.drop_where(reason, ~kept, left)
            left = list(itertools.compress(left, kept))
        return left

    def _clean(self, texts, side):
        # A tab inside a line of one of two files would be a column in a TSV.
        texts = [
            text.replace("\t", " ").replace("\r", " ").strip() for text in texts
        ]
        return simplify(texts) if self._simplified[side] else texts


def script_hint(pairs: Sequence[Pair], config: DataConfig) -> str | None:
    """Names the columns that are mostly in scripts of other languages.

    Args:
        pairs: some of a corpus, as read.
        config: names the languages.

    Returns:
        half a sentence; None if both columns fit, or have no known scripts.
    """
    languages = config.source_language, config.target_language
    scripts = [scripts_of_language(language) for language in languages]
    sources = [without_tags(source) for source, _ in pairs]
    columns = {"sources": sources, "targets": [target for _, target in pairs]}
    fits = list(map(_mostly_in, columns.values(), scripts))
    if all(scripts) and fits.count(None) == 1:
        # One column has no letters, such as numbers before the texts.
        fits = list(map(bool, fits))
    if False not in fits:
        return None
    crossed = map(_mostly_in, columns.values(), reversed(scripts))
    if True not in fits and all(crossed):
        return f"the columns are swapped: {languages[1]} comes first"
    index = fits.index(False)
    return (
        f"most {list(columns)[index]} are not in a script of "
        f"{languages[index]} ({', '.join(sorted(scripts[index]))})"
    )


def _mostly_in(texts, scripts):
    """True if most texts are in some scripts; None: unknown."""
    fractions = [fraction_in_scripts(text, scripts) for text in texts]
    known = [fraction for fraction in fractions if fraction is not None]
    if not known or not scripts:
        return None
    return sum(fraction >= 0.5 for fraction in known) * 2 > len(known)


# Checks of lengths.


def keep_by_length(
    source_lengths: np.ndarray,
    target_lengths: np.ndarray,
    config: DataConfig,
    report: CleaningReport,
    check_ratio: bool = True,
    pairs: Sequence[Pair] = (),
) -> np.ndarray:
    """Marks the pairs that pass the checks that count tokens.

    Args:
        source_lengths: int `(N,)`, tokens of each source.
        target_lengths: int `(N,)`, tokens of each target.
        config: gives `max_length` and `max_length_ratio`.
        report: counts are added here, and samples.
        check_ratio: False leaves the check of the ratio out.
        pairs: their text; none: the report gets no samples.

    Returns:
        bool `(N,)`.
    """
    shorter = np.minimum(source_lengths, target_lengths)
    longer = np.maximum(source_lengths, target_lengths)
    empty = shorter == 0
    over_long = ~empty & (longer > config.max_length)
    uneven = np.zeros_like(empty)
    if check_ratio and config.max_length_ratio:
        uneven = longer > config.max_length_ratio * shorter
        uneven &= ~(empty | over_long)
    report.drop("empty", int(empty.sum()))
    report.drop_where("over_long", over_long, pairs)
    report.drop_where("length_ratio", uneven, pairs)
    return ~(empty | over_long | uneven)
