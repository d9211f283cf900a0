"""Cleaning: keeps or drops pairs, and counts the dropped ones by reason.

The checks, in their order; a pair is counted under the first that it fails:

1. `empty`: a side has no text, or no token.
2. `long_line`: a line has more than a MiB, and wasn't read.
3. `wrong_script`, `copied`, `wrong_language` and `other_numbers`: by filters
   of `data.filters` (options).
4. `leaked`: a held-out file has the pair, too, or a side of it (option).
5. `duplicate`: the corpus has the same cleaned pair already (option).
6. `shared_with_dev`: the dev split that was taken from the corpus has a side
   of it.
7. `not_sampled`: its corpus has a fractional weight, and the pair isn't in the
   sample that is trained on (option).
8. `over_long`: a side has more than `max_length` tokens.
9. `length_ratio`: the longer side has more than `max_length_ratio` times the
   tokens of the shorter (option).
10. `unaligned`: its sides don't translate each other, see `data.alignment`
   (option).

Checks 1 and 3 look at a single pair's text and are in this module, as are those
that count tokens (the rest of 1, 8 and 9) and run once the tokenizers exist.
Check 2 is in `data.lines`, check 10 in `data.alignment`, and the others, which
compare pairs, are in `data.selection`.

Filters keep pairs that they can't judge: texts without letters outside of
markup, unknown languages, numbers that the other side spells out.
"""

import collections
import functools
import importlib.util
import itertools
import re
import unicodedata
from collections.abc import Callable, Sequence

import numpy as np

from keras_transformer.blank import is_blank
from keras_transformer.config.data import DataConfig
from keras_transformer.data.corpus import Pair
from keras_transformer.data.selection import fingerprints, without_tags
from keras_transformer.documents.markup import MARKUP
from keras_transformer.errors import InputError, not_installed
from keras_transformer.languages import (
    base_language,
    fraction_in_scripts,
    is_chinese,
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
ALIGNMENT = "alignment"  # the filter that learns from the corpus first
_PACKAGE = "py3langid"
# How much more probable another language must be, as a natural logarithm. Texts
# that are too short to identify don't reach this.
_MARGIN = 15.0
_LONGEST = 400  # characters from which the language is identified
_MARKUP = re.compile(MARKUP, re.DOTALL)
_DIGITS = re.compile(r"\d+")
# A number, with the separators that languages put between its digits.
_NUMBER = re.compile(r"\d+(?:[.,:'’·٫٬，．\s]\d+)*")
# How words for thousands, millions and so on begin; not "millimetre", "миль".
_WORDS = (
    r"[百千万萬亿億兆백천만억] mill?i[aáeoój] mill[oó]n milh[ãõ] milj[oa] mily "
    r"mil(?:a|le)?\b mio mln mld mrd bill?i bilj[oa] bn\b thousand tausend "
    r"duizend tus[ei]n tuhat bin\b tys tis[íiuo] triệu nghìn ngàn t[ỷỉ]\b juta "
    "ribu lakh crore тыс тис млн млрд милл?и[оај] міль[йяё] χιλιάδ εκατομμ "
    "लाख करो हज\u093c?ार ล้าน مليون مليار ملايين ألف آلاف میلیون میلیارد هزار"
)
# Numbers followed by number words: "3万", "1.5 million", "2 Mrd."
_WITH_WORD = re.compile(
    rf"(?<![\d.,٫٬])\d[\d.,٫٬]*+\s*+(?:{'|'.join(_WORDS.split())})",
    re.IGNORECASE,
)
# Dropped pairs that a report shows per reason, and characters of each side.
_SAMPLES, _SHOWN = 5, 200


class CleaningReport:
    """Counts of the pairs read, kept and dropped, by reason.

    Attributes:
        read: pairs in the files.
        repeated: copies of pairs that corpus weights add.
        dropped: counts by reason.
        samples: by reason, random pairs that were dropped for their text, each
            preceded by the number by which it was drawn.
    """

    def __init__(self) -> None:
        self.read = 0
        self.repeated = 0
        self.dropped = collections.Counter({reason: 0 for reason in REASONS})
        self.samples: dict[str, list] = {}

    @property
    def kept(self) -> int:
        """The number of pairs that are left, including repetitions."""
        return self.read + self.repeated - self.dropped.total()

    def drop(self, reason: str, count: int = 1) -> None:
        """Counts pairs that were dropped for a reason."""
        self.dropped[reason] += count

    def drop_where(
        self, reason: str, failed: np.ndarray, pairs: Sequence[Pair] = ()
    ) -> None:
        """Counts pairs that were dropped for a reason, and keeps samples.

        Args:
            reason: one of `REASONS`.
            failed: bool `(N,)`, True for the dropped pairs.
            pairs: the text of all N pairs; if empty, no samples are kept.
        """
        self.drop(reason, int(failed.sum()))
        if dropped := list(itertools.compress(pairs, failed)):
            numbers = fingerprints(map("\t".join, dropped), "sample").tolist()
            shown = [[text[:_SHOWN] for text in pair] for pair in dropped]
            drawn = zip(numbers, *zip(*shown, strict=True), strict=True)
            self._keep_samples(reason, drawn)

    def _keep_samples(self, reason, drawn):
        drawn = {*self.samples.get(reason, ()), *map(tuple, drawn)}
        # The lowest numbers, so that the order of pairs doesn't matter.
        self.samples[reason] = sorted(drawn)[:_SAMPLES]

    def drop_long_lines(self, count: int) -> None:
        """Counts pairs of over-long lines, which were counted as empty."""
        self.drop("empty", -count)
        self.drop("long_line", count)

    def add(self, other: "CleaningReport") -> None:
        """Adds the counts and samples of another part of the corpus."""
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
        """Random pairs for each reason that depends on text, cut if long.

        They don't depend on the order of the corpus.
        """
        return {
            reason: [pair for _, *pair in self.samples[reason]]
            for reason in REASONS
            if reason in self.samples
        }

    def __str__(self) -> str:
        return ", ".join(f"{k} {v}" for k, v in self.to_dict().items())


def require_pairs(report: CleaningReport, name: str) -> None:
    """Refuses a corpus of which no pair is left.

    Raises:
        InputError: no pair was read, or none was kept; the latter message has
            the counts.
    """
    if report.kept:
        return
    if not report.read:
        raise InputError(f"{name}: no sentence pair. Accepted: one or more")
    raise InputError(f"{name}: no sentence pair is left ({report})")


class Cleaner:
    """Cleans the text of pairs, without looking at tokens or other pairs.

    The result for a pair doesn't depend on its position in the corpus.

    Args:
        config: languages, and the requested checks.
        check: False for the dev set, from which only empty pairs are dropped.
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
        """Returns the kept pairs, cleaned, in order.

        Args:
            pairs: as they were read.
            report: counts the pairs that are read and dropped.
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
        # A tab in a line of one of two files would begin a column in a TSV.
        texts = [
            text.replace("\t", " ").replace("\r", " ").strip() for text in texts
        ]
        return simplify(texts) if self._simplified[side] else texts


def check_filters(config: DataConfig) -> None:
    """Refuses filters that can't work, before the corpus is read.

    Raises:
        InputError: the package for the filter `language` isn't installed, or
            supports neither language.
    """
    if "language" not in config.filters:
        return
    if importlib.util.find_spec(_PACKAGE) is None:
        raise not_installed(_PACKAGE, "filters", "or other data.filters")
    languages = config.source_language, config.target_language
    if not any(_code(language) in _identifier()[1] for language in languages):
        raise InputError(
            f"the filter language knows neither {languages[0]} nor "
            f"{languages[1]}. Accepted: other data.filters"
        )


def text_filters(config: DataConfig) -> dict[str, Callable[[Pair], bool]]:
    """The filters of a configuration except `alignment`.

    Returns:
        for each reason, a function that returns True for pairs that pass.
    """
    languages = config.source_language, config.target_language
    checks: dict[str, Callable[[Pair], bool]] = {}
    if "script" in config.filters:
        scripts = tuple(map(scripts_of_language, languages))
        checks["wrong_script"] = functools.partial(_is_in_scripts, scripts)
    if "copies" in config.filters:
        checks["copied"] = _is_no_copy
    if "language" in config.filters:
        checks["wrong_language"] = _LanguageFilter(languages)
    if "numbers" in config.filters:
        checks["other_numbers"] = _has_same_numbers
    return checks


def _is_in_scripts(scripts, pair):
    """True if both sides are mostly in the scripts of their languages.

    A side passes if at least half of its words are (see `fraction_in_scripts`),
    if it has no letters, or if the script of its language isn't known.
    """
    for text, known in zip(map(unmarked, pair), scripts, strict=True):
        fraction = fraction_in_scripts(text, known) if known else None
        if fraction is not None and fraction < 0.5:
            return False
    return True


def _is_no_copy(pair):
    """True if the sides differ in more than case, white space and markup.

    Pairs without letters pass: a number is its own translation.
    """
    source, target = (
        "".join(unmarked(text).casefold().split()) for text in pair
    )
    return source != target or not any(map(str.isalpha, target))


def unmarked(text: str) -> str:
    """A text with spaces in place of tags, placeholders and addresses."""
    return _MARKUP.sub(" ", text)


class _LanguageFilter:
    """True if neither side is clearly in a language other than its own.

    References: Lui and Baldwin 2012, "langid.py: An Off-the-shelf Language
    Identification Tool"; py3langid 0.4.
    """

    def __init__(self, languages):
        self._identifier, labels = _identifier()
        codes = [_code(language) for language in languages]
        self._codes = [code if code in labels else None for code in codes]

    def __call__(self, pair):
        return all(map(self._may_be, map(unmarked, pair), self._codes))

    def _may_be(self, text, code):
        if code is None:
            return True
        ranked = self._identifier.rank(text[:_LONGEST])
        _, best = ranked[0]
        return best - dict(ranked)[code] < _MARGIN


@functools.cache
def _identifier():
    """The identifier, and the languages between which it decides.

    Only those with two-letter codes: of the others, some are dialects, and some
    are hardly written.
    """
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    labels = [label for label in identifier.labels if len(label) == 2]
    identifier.set_languages(labels)
    return identifier, labels


def _code(language):
    """The code that py3langid uses for a language."""
    if is_chinese(language):
        return "zh"
    base = base_language(language)
    return "no" if base == "nb" else base


def _has_same_numbers(pair):
    """True unless each side has a number that the other lacks.

    A side may spell some out. Separators and leading zeros don't matter.
    """
    texts = [
        _WITH_WORD.sub(
            " ", text if text.isascii() else _with_ascii_digits(text)
        )
        for text in map(unmarked, pair)
    ]
    return any(
        source <= target or target <= source
        for source, target in (map(find, texts) for find in (_parts, _numbers))
    )


def _parts(text):
    return {digits.lstrip("0") for digits in _DIGITS.findall(text)}


def _numbers(text):
    return {re.sub(r"\D", "", found) for found in _NUMBER.findall(text)}


def _with_ascii_digits(text):
    return re.sub(r"\d", lambda match: str(unicodedata.decimal(match[0])), text)


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
        report: counts the dropped pairs, and gets samples.
        check_ratio: False skips the check of the ratio.
        pairs: their text; if empty, the report gets no samples.

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
