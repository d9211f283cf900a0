"""Lexicons learned from pairs of sentences: possible translations of tokens.

For each source token, the most probable target tokens of IBM Model 1 are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from keras_transformer.constants import PAD_ID, SPECIAL_TOKENS, UNK_ID
from keras_transformer.data.corpus import sentence_pairs
from keras_transformer.data.records import Ids
from keras_transformer.data.word_alignment import link, model_1
from keras_transformer.errors import InputError
from keras_transformer.search.shortlist import Lexicon
from keras_transformer.text.tokenizer import encoded

if TYPE_CHECKING:
    from keras_transformer.data.corpus import Pair, Pairs
    from keras_transformer.text.tokenizer import Tokenizer
    from keras_transformer.training.run import Run

# Marian has 100 of both. A batch's shortlist has the candidates of all of its
# sentences, half as many tokens with these numbers; with fewer candidates,
# languages with many word forms lose BLEU (docs/results.md).
CANDIDATES, FREQUENT = 30, 50
_BATCH = 10_000  # sentences tokenized at a time
# Pairs are held in memory; more of them don't change the lexicon.
_MOST_PAIRS = 1_000_000


def learn_lexicon(
    pairs: Sequence[Pair],
    source: Tokenizer,
    target: Tokenizer,
    candidates: int = CANDIDATES,
    frequent: int = FREQUENT,
) -> Lexicon:
    """Learns the possible translations of each token.

    A token of the same spelling is possible, too, for names and numbers.

    Args:
        pairs: source and target sentences, as a model translates them.
        source: `Tokenizer` of the sources.
        target: `Tokenizer` of the targets.
        candidates: target tokens of a source token, at most.
        frequent: target tokens that every sentence may use.

    Returns:
        `Lexicon` of int32 arrays; the last column is for copies.

    Raises:
        InputError: there is no pair with text on both sides.
    """
    sides = [
        _encode([pair[side] for pair in pairs], tokenizer)
        for side, tokenizer in enumerate((source, target))
    ]
    if not pairs or not all(len(ids) for ids, _ in sides):
        raise InputError(
            "a shortlist needs pairs of sentences. Received: "
            f"{len(pairs)} pairs, none of them with text on both sides"
        )
    links = link(*sides)
    probabilities = model_1(links)
    best = _best(links, probabilities, source.vocabulary_size, candidates)
    counts = np.bincount(sides[1][0], minlength=target.vocabulary_size)
    counts[: len(SPECIAL_TOKENS)] = 0
    order = np.argsort(-counts, kind="stable")[:frequent]
    copies = _copies(source.tokens(), target.tokens())
    return Lexicon(
        np.concatenate([best, copies[:, None]], axis=1).astype(np.int32),
        order[counts[order] > 0].astype(np.int32),
    )


def lexicon_of(run: Run, pairs: Pairs | None) -> Lexicon | None:
    """The lexicon of a run's tokens, or None without `pairs`.

    Args:
        run: has the tokenizers.
        pairs: sentences, or files of them, see `sentence_pairs`; None: no
            shortlist.

    Raises:
        InputError: a file can't be read, has no pair with text, or more than
            a million.
    """
    if pairs is None:
        return None
    known = sentence_pairs(pairs, _MOST_PAIRS, run.config.data.languages)
    return learn_lexicon(known, run.source_tokenizer, run.target_tokenizer)


def _encode(texts, tokenizer):
    return Ids.joined(
        [
            Ids.of(tokenizer.tokenize(encoded(texts[first : first + _BATCH])))
            for first in range(0, len(texts), _BATCH)
        ]
    )


def _best(links, probabilities, vocabulary_size, count):
    """int64 `(W, count)`: the best targets of each source, PAD after."""
    known = (links.sources > UNK_ID) & (links.targets > UNK_ID)
    sources, targets = links.sources[known], links.targets[known]
    order = np.lexsort((targets, -probabilities[known], sources))
    sources, targets = sources[order], targets[order]
    sizes = np.bincount(sources, minlength=vocabulary_size)
    rank = np.arange(len(sources)) - (np.cumsum(sizes) - sizes)[sources]
    table = np.full((vocabulary_size, count), PAD_ID)
    kept = rank < count
    table[sources[kept], rank[kept]] = targets[kept]
    return table


def _copies(source_tokens, target_tokens):
    """int64 `(W,)`: the target token of the same spelling, or PAD."""
    ids = {token: i for i, token in enumerate(target_tokens)}
    first = len(SPECIAL_TOKENS)
    return np.array(
        [
            PAD_ID if i < first else ids.get(token, PAD_ID)
            for i, token in enumerate(source_tokens)
        ]
    )
