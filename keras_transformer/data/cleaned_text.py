"""Cleaned text: what is left of a block of the corpus, pair by pair."""

from collections.abc import Callable, Sequence

from keras_transformer.config.data import DataConfig
from keras_transformer.data.cleaning import (
    Check,
    CleaningReport,
    clean_pairs,
    text_checks,
)
from keras_transformer.data.corpus import Pair
from keras_transformer.languages import is_simplified_chinese
from keras_transformer.text.chinese import simplify

# What is done so far: (stage, pairs done, of how many or None).
Progress = Callable[[str, int, int | None], None]


class Cleaner:
    """Cleans the text of pairs, without looking at tokens or other pairs.

    The same pair is cleaned to the same text wherever it stands.

    Args:
        config: languages, and what is to be checked.
        check: False for held-out pairs, of which only the empty ones go.

    Call arguments:
        pairs: as they were read.
        report: counts what is read and dropped.

    Returns:
        the pairs that are kept, cleaned, in order.
    """

    def __init__(self, config: DataConfig, check: bool = True) -> None:
        self._sides = [
            _side_cleaner(language, config)
            for language in (config.source_language, config.target_language)
        ]
        self._checks: list[tuple[str, Check]] = []
        if check:
            self._checks = text_checks(config)

    def __call__(
        self, pairs: Sequence[Pair], report: CleaningReport
    ) -> list[Pair]:
        """The pairs that are left; the report counts the others."""
        source, target = self._sides
        return clean_pairs(pairs, source, target, report, self._checks)


def _side_cleaner(language, config):
    if config.simplify_chinese and is_simplified_chinese(language):
        return lambda lines: list(simplify(lines))
    return lambda lines: lines
