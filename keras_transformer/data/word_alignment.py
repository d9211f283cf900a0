"""Word alignment: which tokens of a pair of sentences translate each other.

By IBM Model 1 with a prior that favours the diagonal, as fast_align.

Reference: Dyer et al. 2013, "A Simple, Fast, and Effective Reparameterization
of IBM Model 2".

Axes: B pairs, S source, T target positions, P pairs of tokens that are kept.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np
import tensorflow as tf

from keras_transformer.constants import END_ID, PAD_ID, START_ID
from keras_transformer.data.model_1 import (
    MOST_LINKS,
    diagonal_prior,
    link,
    link_codes,
    model_1,
    null_prior,
)
from keras_transformer.data.records import Ids, parse

if TYPE_CHECKING:
    from keras_transformer.data.prepared import PreparedData

_BATCH = 10_000  # pairs read at a time
# Less probable links are forgotten: they are never the best of a sentence.
_LEAST = 1e-4


class WordAligner:
    """Aligns tokens of pairs, by what it learned from pairs.

    Each token has at most one link in each direction; the links of both are
    joined by grow-diag (Koehn et al. 2003, "Statistical Phrase-Based
    Translation", section 4.1).

    Args:
        sources: ids of all sentences in a row, and the number of each.
        targets: the same of their translations.
    """

    def __init__(self, sources: Ids, targets: Ids) -> None:
        self._forward = _TranslationTable(sources, targets)
        self._backward = _TranslationTable(targets, sources)

    @classmethod
    def of(cls, prepared: PreparedData) -> WordAligner:
        """What learned from training pairs, the first of very many.

        Their order is random, and the same wherever they are read.
        """
        lengths = prepared.lengths("train").astype(np.int64) + 1  # (N, 2)
        links = np.cumsum(lengths.prod(axis=1))
        count = np.searchsorted(links, MOST_LINKS, side="right")
        records = tf.data.TFRecordDataset(
            [os.fsencode(path) for path in prepared.files("train")]
        )
        sides: tuple[list, list] = [], []
        for batch in records.take(max(1, count)).batch(_BATCH):
            for side, ids in zip(sides, parse(batch), strict=True):
                side.append(Ids.of(ids))
        return cls(*map(Ids.joined, sides))

    def __call__(
        self, source_ids: np.ndarray, target_ids: np.ndarray
    ) -> np.ndarray:
        """The links of some pairs.

        Args:
            source_ids: int32 `(B, S)`, padded, START and END among them or not.
            target_ids: int32 `(B, T)`, the same.

        Returns:
            bool `(B, T, S)`, False at START, END and padding.
        """
        forward = self._forward.links(source_ids, target_ids)  # (B, T, S)
        backward = self._backward.links(target_ids, source_ids)  # (B, S, T)
        return _grow_diag(forward, backward.transpose(0, 2, 1))


class _TranslationTable:
    """The probabilities of links in one direction, from sources to targets."""

    def __init__(self, sources, targets):
        links = link(sources, targets, diagonal=True)
        probabilities = model_1(links)
        kept = probabilities >= _LEAST
        codes = link_codes(links.sources[kept], links.targets[kept])
        # One more, so that there is an entry for whatever is looked up.
        self._codes = np.append(codes, np.iinfo(np.int64).max)  # (P,), sorted
        self._probabilities = np.append(probabilities[kept], 0)  # (P,)

    def _probability(self, sources, targets):
        codes = link_codes(sources, targets)
        index = np.searchsorted(self._codes, codes)
        found = self._codes[index] == codes
        return np.where(found, self._probabilities[index], 0)

    def links(self, sources, targets):
        """The most probable link of each target: bool `(B, T, S)`."""
        is_text = [
            ~np.isin(ids, (PAD_ID, START_ID, END_ID))
            for ids in (sources, targets)
        ]
        (i, m), (j, n) = (
            (np.cumsum(side, axis=1), side.sum(axis=1)[:, None, None])
            for side in is_text
        )
        near = diagonal_prior(i[:, None], m, j[..., None], n)  # (B, T, S)
        near = np.where(is_text[0][:, None], near, 0)
        found = self._probability(sources[:, None], targets[..., None])
        scores = found * near  # (B, T, S)
        none = self._probability(-1, targets) * null_prior(near.sum(axis=2))
        linked = is_text[1] & (scores.max(axis=2) > none)  # (B, T)
        best = scores.argmax(axis=2)[..., None] == np.arange(scores.shape[2])
        return best & linked[..., None]


def _grow_diag(forward, backward):
    """Joins the links of both directions.

    Starts from those that both have. Adds those of one that touch a link, also
    by a corner, and have a token without a link, until there are no more; all
    of a round at once, where Koehn et al. go one by one.

    Args:
        forward, backward: bool `(B, T, S)`.
    """
    links, either = forward & backward, forward | backward
    rows, columns = links.shape[1:]
    while True:
        padded = np.pad(links, ((0, 0), (1, 1), (1, 1)))
        near = np.logical_or.reduce(
            [
                padded[:, y : y + rows, x : x + columns]
                for y in range(3)
                for x in range(3)
            ]
        )
        free = ~links.any(2, keepdims=True) | ~links.any(1, keepdims=True)
        more = either & near & free & ~links
        if not more.any():
            return links
        links |= more
