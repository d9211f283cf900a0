"""The checks of a training pair's cleaned text, each an option.

A check maps some pairs to bool [number of pairs], True for those to be kept.
It sees the corpus in order, chunk by chunk, and only what earlier checks kept.
"""

import collections
from collections.abc import Callable, Sequence

import numpy as np

from keras_transformer.config import DataConfig
from keras_transformer.data.seen import (
    Pair,
    SeenCounts,
    SeenPairs,
    hash_strings,
)
from keras_transformer.text.script import (
    scripts_of_language,
    share_in_scripts,
)

Check = Callable[[Sequence[Pair]], np.ndarray]


def text_checks(
    config: DataConfig, guard: Check | None = None
) -> list[tuple[str, Check]]:
    """The checks that a configuration asks for, in their order.

    Args:
        config: the options.
        guard: a `LeakGuard` that knows what is held out, or None.

    Returns:
        Each with the reason under which the pairs it drops are counted. They
        remember what they saw: made anew for each corpus.
    """
    checks = []
    if config.check_script:
        check = ScriptCheck(config.source_language, config.target_language)
        checks.append(("wrong_script", check))
    if config.remove_copies:
        checks.append(("copied", not_copied))
    if guard is not None:
        checks.append(("leaked", guard))
    if config.remove_duplicates:
        checks.append(("duplicate", SeenPairs().first_seen))
    limits = config.max_targets_per_source, config.max_sources_per_target
    if limits != (None, None):
        checks.append(("repeated_side", SideLimits(*limits)))
    return checks


class ScriptCheck:
    """Keeps pairs whose sides are mostly in the scripts of their languages.

    A side passes if half of its words are (see `share_in_scripts`), if it
    has no letters, or if nobody knows the scripts of its language.

    Args:
        source_language: tag of the source.
        target_language: tag of the target.
    """

    def __init__(self, source_language: str, target_language: str):
        self._scripts = (
            scripts_of_language(source_language),
            scripts_of_language(target_language),
        )

    def __call__(self, pairs: Sequence[Pair]) -> np.ndarray:
        return np.array([self._fits(pair) for pair in pairs], bool)

    def _fits(self, pair):
        for text, scripts in zip(pair, self._scripts, strict=True):
            share = share_in_scripts(text, scripts) if scripts else None
            if share is not None and share < 0.5:
                return False
        return True


def not_copied(pairs: Sequence[Pair]) -> np.ndarray:
    """Keeps pairs whose sides differ in more than case and white space.

    Pairs without letters stay: a number is its own translation.
    """
    return np.array([not _is_copy(*pair) for pair in pairs], bool)


def _is_copy(source, target):
    folded = ["".join(side.casefold().split()) for side in (source, target)]
    return folded[0] == folded[1] and any(map(str.isalpha, source))


class SideLimits:
    """Keeps the first so many pairs of each source and of each target.

    Against one short answer that stands for hundreds of sources. Takes 12
    bytes a different text on each limited side.

    Args:
        max_targets_per_source: pairs with the same source; None: any number.
        max_sources_per_target: the same of targets.
    """

    def __init__(
        self,
        max_targets_per_source: int | None,
        max_sources_per_target: int | None,
    ):
        self._limits = [
            (side, limit, SeenCounts())
            for side, limit in enumerate(
                (max_targets_per_source, max_sources_per_target)
            )
            if limit is not None
        ]

    def __call__(self, pairs: Sequence[Pair]) -> np.ndarray:
        sides = []
        for side, limit, seen in self._limits:
            hashes = hash_strings(pair[side] for pair in pairs)
            free = (limit - seen.counts(hashes)).tolist()
            sides.append((hashes, free))
        kept = self._within_chunk(
            len(pairs), [(hashes.tolist(), free) for hashes, free in sides]
        )
        for (_, _, seen), (hashes, _) in zip(self._limits, sides, strict=True):
            seen.add(hashes[kept])
        return kept

    def _within_chunk(self, count, sides):
        """Which pairs find every side free, given what came before."""
        kept = np.ones(count, bool)
        new = [collections.Counter() for _ in sides]
        for i in range(count):
            kept[i] = all(
                seen[texts[i]] < free[i]
                for seen, (texts, free) in zip(new, sides, strict=True)
            )
            # A pair that one limit drops doesn't count towards the other.
            if kept[i]:
                for seen, (texts, _) in zip(new, sides, strict=True):
                    seen[texts[i]] += 1
        return kept
