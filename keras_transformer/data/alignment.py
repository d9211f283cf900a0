"""Alignment: drops pairs whose sides don't translate each other.

A pair's score compares the probability of its tokens by IBM model 1, given the
other side, with their frequency in the corpus: it is the mean logarithm of this
ratio over the tokens of both sides. Unrelated sides score below 0. How far
below depends on the corpus, so the limit is estimated from it: shuffled pairs,
each source with another one's target, score like misaligned pairs.

The model is learned from the first pairs of the training text, which is in
random order. One occurrence of each link is subtracted, so that a pair doesn't
raise its own score.

Reference: Moore 2002, "Fast and Accurate Sentence Alignment of Bilingual
Corpora", which scores by the same model.
"""

from __future__ import annotations

import itertools
import pathlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

import numpy as np

from keras_transformer.data.cleaning import CleaningReport
from keras_transformer.data.corpus import Pair
from keras_transformer.data.records import Ids
from keras_transformer.data.word_alignment import (
    NO_CODE,
    find_links,
    link,
    link_codes,
    model_1,
)
from keras_transformer.text.tokenizer import Tokenizer, encoded

# Links that the model is learned from, 24 bytes each and as many again while
# they are created.
_MOST_LINKS = 12_000_000
_TOGETHER = 1024  # pairs that are tokenized at a time
# Pairs from which the distribution of scores is estimated.
_COMPARED = 20_000
# The weight of a token's frequency in its interpolated probability.
_FREQUENCY = 0.2
_LINKS_AT_ONCE = 1 << 20
# The fraction of shuffled pairs below the limit must exceed that of real pairs
# by this much; otherwise the scores are considered uninformative.
_LEAST_SEPARATION = 0.5


class AlignmentModel(NamedTuple):
    """IBM model 1 in both directions, and the limit of scores.

    Attributes:
        codes: int64 `(P,)`, ascending, see `link_codes`.
        forward: float32 `(P,)`, the probability of the target token given the
            source token, divided by its frequency.
        backward: float32 `(P,)`, the same for the source token.
        limit: pairs that score below are misaligned; minus infinity if no
            limit could be estimated.
    """

    codes: np.ndarray
    forward: np.ndarray
    backward: np.ndarray
    limit: float

    @classmethod
    def learn(
        cls,
        pairs: Iterable[Pair],
        source: Tokenizer,
        target: Tokenizer,
        longest: int,
    ) -> Self:
        """Learns a model from the first pairs, up to a number of links.

        Args:
            pairs: one or more, in random order.
            source: tokenizer of the sources.
            target: tokenizer of the targets.
            longest: tokens of a side; longer pairs are ignored.
        """
        sources, targets = _first_ids(pairs, longest, source, target)
        if not len(sources.lengths):
            ratios = np.zeros(1, np.float32)
            return cls(NO_CODE, ratios, ratios, -np.inf)
        source_ids, target_ids, there_ratios = _ratios(sources, targets)
        there = link_codes(source_ids, target_ids)
        target_ids, source_ids, back_ratios = _ratios(targets, sources)
        back = link_codes(source_ids, target_ids)
        codes = np.append(np.union1d(there, back), NO_CODE)
        forward, backward = np.zeros((2, len(codes)), np.float32)
        forward[np.searchsorted(codes, there)] = there_ratios
        backward[np.searchsorted(codes, back)] = back_ratios
        model = cls(codes, forward, backward, -np.inf)
        return model._replace(limit=model._limit(sources, targets))

    @classmethod
    def load(cls, path: pathlib.Path) -> Self:
        """Loads a model from a file."""
        with np.load(path) as arrays:
            return cls(*(arrays[name] for name in cls._fields))

    def save(self, path: pathlib.Path) -> None:
        """Writes the model to a file."""
        np.savez(path, **self._asdict())

    def keep(
        self,
        sources: Ids,
        targets: Ids,
        pairs: Sequence[Pair],
        report: CleaningReport,
    ) -> np.ndarray:
        """Marks the pairs whose score is at least the limit.

        Args:
            sources: of N pairs, with one or more tokens each.
            targets: of the same pairs.
            pairs: their text.
            report: counts the dropped pairs.

        Returns:
            bool `(N,)`.
        """
        kept = self.scores(sources, targets) >= self.limit
        report.drop_where("unaligned", ~kept, pairs)
        return kept

    def scores(self, sources: Ids, targets: Ids) -> np.ndarray:
        """Computes the scores of pairs, see the module.

        Args:
            sources: of N pairs, with one or more tokens each.
            targets: of the same pairs.

        Returns:
            float64 `(N,)`.
        """
        links = sources.lengths * targets.lengths
        part = np.cumsum(links) // _LINKS_AT_ONCE
        bounds = [*np.flatnonzero(np.diff(part, prepend=-1)), len(links)]
        parts = zip(sources.parts(bounds), targets.parts(bounds), strict=True)
        scores = [self._scores(*both) for both in parts]
        return np.concatenate([np.empty(0), *scores])

    def _scores(self, sources, targets):
        """Computes the scores of a few pairs."""
        count = sources.lengths * targets.lengths  # (N,)
        sentence = np.repeat(np.arange(len(count)), count)  # (L,)
        within = np.arange(count.sum()) - (np.cumsum(count) - count)[sentence]
        width = targets.lengths[sentence]
        starts = [
            np.cumsum(side.lengths) - side.lengths
            for side in (sources, targets)
        ]
        # Indices of each link's tokens, (L,)
        source = starts[0][sentence] + within // width
        target = starts[1][sentence] + within % width
        ids = sources.values[source], targets.values[target]
        index = find_links(self.codes, *ids)
        forward, backward = self.forward[index], self.backward[index]  # (L,)
        totals = [
            _sums(backward, source, targets.lengths, sources),
            _sums(forward, target, sources.lengths, targets),
        ]
        return sum(totals) / (sources.lengths + targets.lengths)

    def _limit(self, sources, targets):
        """Finds the score that best separates real pairs from shuffled ones.

        It maximizes the difference between the fractions of shuffled and of
        real pairs below it (Youden 1950, "Index for Rating Diagnostic Tests").
        The maximum doesn't depend on how many pairs of the corpus are
        misaligned.
        """
        some = np.arange(min(len(sources.lengths), _COMPARED))
        sources = sources.take(some)
        real = np.sort(self.scores(sources, targets.take(some)))
        shuffled = targets.take(np.roll(some, 1))
        shuffled = np.sort(self.scores(sources, shuffled))
        below = np.searchsorted(real, shuffled) / len(some)
        separation = (some + 1) / len(some) - below
        best = int(np.argmax(separation))
        if separation[best] < _LEAST_SEPARATION:
            return -np.inf
        return float(shuffled[best])


def _first_ids(pairs, longest, *tokenizers):
    """Returns the ids of both sides of the pairs that the model learns from.

    Very long pairs are left out: one could use up the links, and the memory.
    """
    pairs, seen = iter(pairs), set()
    parts, links = [], 0
    while links < _MOST_LINKS and (
        some := list(itertools.islice(pairs, _TOGETHER))
    ):
        # Corpus weights repeat pairs, whose copies would raise their scores.
        new = [pair for pair in dict.fromkeys(some) if pair not in seen]
        seen.update(new)
        columns = zip(*new, strict=True) if new else ((), ())
        sides = [
            Ids.of(tokenizer.tokenize(encoded(texts)))
            for tokenizer, texts in zip(tokenizers, columns, strict=True)
        ]
        lengths = np.array([side.lengths for side in sides])  # (2, N)
        fits = np.all((lengths > 0) & (lengths <= longest), axis=0)
        parts.append([side.only(fits) for side in sides])
        links += int(lengths[:, fits].prod(axis=0).sum())
    return [Ids.joined(side) for side in zip(*parts, strict=True)]


def _ratios(sources, targets):
    """Computes how source tokens change the probability of target tokens.

    Returns:
        source ids, target ids, and for each pair of them the probability of
        the target token given the source token, divided by its frequency.
    """
    links = link(sources, targets)
    # The expected number of links for each pair of tokens.
    share = model_1(links)[links.types]  # (L,)
    share /= np.bincount(links.positions, share)[links.positions]
    counts = np.bincount(links.types, share)  # (P,)
    totals = np.bincount(links.sources + 1, counts)
    frequencies = np.bincount(targets.values) / len(targets.values)
    counts -= 1
    kept = (counts > 0) & (links.sources >= 0)
    source, target = links.sources[kept], links.targets[kept]
    ratios = counts[kept] / (totals[source + 1] * frequencies[target])
    return source, target, ratios


def _sums(ratios, places, others, side):
    """Sums the logarithms over each sentence's tokens, float64 `(N,)`.

    Args:
        ratios: `(L,)`, of links.
        places: int `(L,)`, the index of each link's token on this side.
        others: int `(N,)`, numbers of tokens on the other side, all of which
            are linked.
        side: `Ids` of the sentences.
    """
    sentence = np.repeat(np.arange(len(side.lengths)), side.lengths)  # (M,)
    ratio = np.bincount(places, ratios, len(sentence)) / others[sentence]
    logarithms = np.log(_FREQUENCY + (1 - _FREQUENCY) * ratio)
    return np.bincount(sentence, logarithms, len(side.lengths))
