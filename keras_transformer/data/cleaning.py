"""Cleaning: keeps or drops pairs, and counts the dropped ones by reason.

The checks, in their order; a pair is counted under the first that it fails:

1. `empty`: a side has no text, or no token.
2. `long_line`: a line has more than `max_line_bytes`, and wasn't read.
3. `wrong_script`: a side isn't in its language's script (option).
4. `copied`: both sides are the same text (option).
5. `leaked`: a held-out file has the pair too, or a side of it (option).
6. `duplicate`: the corpus has the same cleaned pair already (option).
7. `shared_with_dev`: the dev split that was taken from the corpus has a side
   of it.
8. `not_sampled`: its corpus has a weight, and the fraction of it that is
   trained on leaves the pair out (option).
9. `over_long`: a side has more than `max_length` tokens.
10. `length_ratio`: the longer side has more than `max_length_ratio` times the
   tokens of the shorter (option).

The second is of `data.bounded_lines`. The other ones of the first four look at
one pair alone and are here, as are the last two and the second half of the
first, which count tokens and run when the tokenizers exist. The others look at
all pairs: see `data.selection`.
"""

import collections
import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from keras_transformer.blank import is_blank
from keras_transformer.config.data import DataConfig
from keras_transformer.data.corpus import Pair
from keras_transformer.data.keys import without_tags
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
    "leaked",
    "duplicate",
    "shared_with_dev",
    "not_sampled",
    "over_long",
    "length_ratio",
)


class CleaningReport:
    """Counts of the pairs read, kept and dropped, by reason.

    Attributes:
        read: pairs of the files.
        repeated: copies that the weights of corpora add to them.
    """

    def __init__(self) -> None:
        self.read = 0
        self.repeated = 0
        self.dropped = collections.Counter({reason: 0 for reason in REASONS})

    @property
    def kept(self) -> int:
        """Pairs that are left, repetitions counted."""
        return self.read + self.repeated - self.dropped.total()

    def drop(self, reason: str, count: int = 1) -> None:
        """Counts pairs that were dropped for a reason."""
        self.dropped[reason] += count

    def drop_long_lines(self, count: int) -> None:
        """Counts pairs of over-long lines, dropped as the empty ones left."""
        self.drop("empty", -count)
        self.drop("long_line", count)

    def add(self, read: int, dropped: Mapping[str, int]) -> None:
        """Adds the counts of another part of the corpus."""
        self.read += read
        self.dropped.update(dropped)

    def to_dict(self) -> dict:
        """`read`, `kept`, a count for each reason in order, `repeated`."""
        return {
            "read": self.read,
            "kept": self.kept,
            **{reason: self.dropped[reason] for reason in REASONS},
            "repeated": self.repeated,
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
        check: False for held-out pairs, of which only the empty ones go.
    """

    def __init__(self, config: DataConfig, check: bool = True) -> None:
        languages = config.source_language, config.target_language
        self._simplified = [
            config.simplify_chinese and is_simplified_chinese(language)
            for language in languages
        ]
        self._checks: dict[str, Callable[[Pair], bool]] = {}
        if check and config.check_script:
            scripts = tuple(map(scripts_of_language, languages))
            self._checks["wrong_script"] = functools.partial(
                _is_in_scripts, scripts
            )
        if check and config.remove_copies:
            self._checks["copied"] = _is_no_copy

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
            kept = list(filter(passes, left))
            report.drop(reason, len(left) - len(kept))
            left = kept
        return left

    def _clean(self, texts, side):
        # A tab inside a line of one of two files would be a column in a TSV.
        texts = [
            text.replace("\t", " ").replace("\r", " ").strip() for text in texts
        ]
        return simplify(texts) if self._simplified[side] else texts


def _is_in_scripts(scripts, pair):
    """True if both sides are mostly in the scripts of their languages.

    A side passes if half of its words are (see `fraction_in_scripts`), if it
    has no letters, or if its language has no known script.
    """
    source, target = pair
    for text, known in zip(
        (without_tags(source), target), scripts, strict=True
    ):
        fraction = fraction_in_scripts(text, known) if known else None
        if fraction is not None and fraction < 0.5:
            return False
    return True


def _is_no_copy(pair):
    """True if the sides differ in more than case and white space.

    Pairs without letters pass: a number is its own translation.
    """
    source, target = pair
    # What looks like a tag may be markup, which a copy has on both sides.
    sides = source, without_tags(source), target
    *sources, copy = ("".join(side.casefold().split()) for side in sides)
    return copy not in sources or not any(map(str.isalpha, target))


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
) -> np.ndarray:
    """Marks the pairs that pass the checks that count tokens.

    Args:
        source_lengths: int `(N,)`, tokens of each source.
        target_lengths: int `(N,)`, tokens of each target.
        config: gives `max_length` and `max_length_ratio`.
        report: counts are added here.
        check_ratio: False leaves the check of the ratio out.

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
    report.drop("over_long", int(over_long.sum()))
    report.drop("length_ratio", int(uneven.sum()))
    return ~(empty | over_long | uneven)
