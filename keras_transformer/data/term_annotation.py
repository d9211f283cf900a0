"""Term annotation: sources whose terms have their translations beside them.

A model learns from them to take the translations that a glossary says (Dinu et
al. 2019, "Training Neural Machine Translation to Apply Terminology
Constraints"). Terms are those of a list, and phrases of the corpus itself, so
that a model learns to take whatever is annotated.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

from keras_transformer.data.corpus import Pair
from keras_transformer.data.word_links import WordLinks
from keras_transformer.documents.glossary import (
    Found,
    Glossary,
    annotated,
    has_form,
)

# Phrases of a pair that are annotated, at most.
_MOST = 4


class TermAnnotator:
    """Annotates terms in the sources of a share of pairs.

    The same pair has the same terms, wherever it is in a corpus.

    Args:
        share: of the pairs, 0 to 1.
        seed: chooses pairs and terms.
        links: of words, from which phrases are drawn.
        glossary: whose terms are annotated where a pair has both sides, as
            `has_form` says.
    """

    def __init__(
        self,
        share: float,
        seed: int,
        links: WordLinks,
        glossary: Glossary | None = None,
    ) -> None:
        self._share = share
        self._seed = seed
        self._links = links
        self._glossary = glossary

    def __call__(self, pair: Pair) -> tuple[Pair, Mapping[str, int]]:
        """A pair, its source annotated or not.

        Returns:
            the pair, and counts: `pairs` that are annotated, `listed` terms of
            the glossary, `drawn` phrases of the corpus.
        """
        source, target = pair
        generator = random.Random(f"{self._seed}\t{source}\t{target}")
        if generator.random() >= self._share:
            return pair, {}
        terms = self._listed(source, target)
        listed = len(terms)
        phrases = self._links.phrases(source, target)
        generator.shuffle(phrases)
        most = generator.randint(1, _MOST)
        for phrase in phrases:
            if len(terms) < most and not _overlaps(phrase, terms):
                wanted = target[phrase.target_start : phrase.target_end]
                terms.append(
                    Found(phrase.source_start, phrase.source_end, wanted)
                )
        if not terms:
            return pair, {}
        drawn = len(terms) - listed
        return (
            (annotated(source, sorted(terms)), target),
            {"pairs": 1, "listed": listed, "drawn": drawn},
        )

    def _listed(self, source, target):
        """The glossary's terms that both sides have."""
        if self._glossary is None:
            return []
        return [
            term
            for term in self._glossary.find(source)
            if has_form(target, term.target or source[term.start : term.end])
        ]


def _overlaps(phrase, terms: Iterable[Found]):
    return any(
        term.start < phrase.source_end and phrase.source_start < term.end
        for term in terms
    )
