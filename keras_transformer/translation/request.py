"""Translation requests and results: plain data, without TensorFlow."""

import dataclasses
import itertools
import numbers
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from keras_transformer.constants import NO_SCORE
from keras_transformer.errors import InputError, shown

# Why texts are truncated.
WHY = (
    "more tokens than the model takes, or a translation that reached its limit"
)
# Markup is text like the rest; it is placed by the alignment.
KEEP, PROJECT = "keep", "project"
# Truncated texts whose numbers are named.
_NAMED = 5


@dataclasses.dataclass(frozen=True)
class TranslationRequest:
    """What is requested of each line's translation, beside its text.

    Attributes:
        n_best: hypotheses, the best first; None: the best alone.
        scores: the score of each.
        token_scores: the log-probability of each token.
        alignment: the attention weights of each token.
        prefixes: translations that begin as requested: each line is a pair
            of the source and the prefix, "" for none.
        json: all that is known of them.
        markup: `KEEP` or `PROJECT`, what is done with tags and placeholders;
            None: symbols stand for them, if the model has any, else `KEEP`.
        placeholders: regular expressions of further marks.
    """

    n_best: int | None = None
    scores: bool = False
    token_scores: bool = False
    alignment: bool = False
    prefixes: bool = False
    json: bool = False
    markup: str | None = None
    placeholders: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Hypotheses of a line."""
        return 1 if self.n_best is None else self.n_best

    @property
    def is_plain(self) -> bool:
        """Whether the best translation and its score are enough."""
        return self == TranslationRequest(
            scores=self.scores,
            markup=self.markup,
            placeholders=self.placeholders,
        )


class Hypothesis(NamedTuple):
    """One of a line's translations; None is what wasn't requested.

    Attributes:
        text: the translation.
        score: log-probability, length-normalised.
        log_probability: of the whole translation.
        finished: whether it reached its end before its limit.
        tokens: as the vocabulary has them, the end token included.
        token_log_probabilities: as many.
        alignment: for each token its attention weights over the source's
            tokens.
    """

    text: str
    score: float
    log_probability: float | None = None
    finished: bool | None = None
    tokens: list[str] | None = None
    token_log_probabilities: list[float] | None = None
    alignment: list[list[float]] | None = None

    @property
    def line(self) -> str:
        """The translation without line ends, which a model may have learnt."""
        return " ".join(self.text.splitlines())


class Translation(NamedTuple):
    """One line's result.

    Attributes:
        source: the line.
        hypotheses: the best first.
        truncated: whether the line lost its end: it had more tokens than the
            model has positions, or its translation reached the limit.
        source_tokens: as they look in the line, "" for its start and end.
        sentences: of the line, each of which was translated by itself; None:
            it isn't known.
    """

    source: str
    hypotheses: list[Hypothesis]
    truncated: bool = False
    source_tokens: list[str] | None = None
    sentences: int | None = None


def blank_translation(
    line: str | tuple[str, ...], text: str = ""
) -> Translation:
    """The result of a line without words.

    Args:
        line: the source, or the source and what its translation begins with.
        text: of the result, markup alone.
    """
    source = line if isinstance(line, str) else line[0]
    nothing = Hypothesis(text, 0.0, 0.0, True, [], [], [])
    return Translation(source, [nothing], False, [], 0)


def of_rank(translation: Translation, rank: int) -> Hypothesis:
    """A hypothesis of a rank from 0, or the last."""
    hypotheses = translation.hypotheses
    return hypotheses[min(rank, len(hypotheses) - 1)]


def joined_translation(
    line: str, results: Sequence[Translation], texts: Sequence[str]
) -> Translation:
    """The result of a text of several sentences or parts.

    Args:
        line: the text.
        results: of its parts, one or more.
        texts: what the hypotheses of each rank are joined to, perhaps more.
    """
    ranks = max(len(one.hypotheses) for one in results)
    widths = [len(one.source_tokens or ()) for one in results]
    return Translation(
        line,
        [
            _joined(texts[k], [of_rank(one, k) for one in results], widths)
            for k in range(ranks)
        ],
        any(one.truncated for one in results),
        chained([one.source_tokens for one in results]),
        sum(1 if one.sentences is None else one.sentences for one in results),
    )


def _joined(text, parts, widths) -> Hypothesis:
    """One hypothesis of those of several sentences of so many tokens."""
    known = [part.log_probability for part in parts]
    finished = [part.finished for part in parts]
    alignment = None
    if None not in (alignments := [part.alignment for part in parts]):
        # A sentence's tokens attend to none of another's.
        alignment = [
            [0.0] * sum(widths[:i]) + row + [0.0] * sum(widths[i + 1 :])
            for i, rows in enumerate(alignments)
            for row in rows
        ]
    return Hypothesis(
        text,
        sum(part.score for part in parts) / len(parts),
        None if None in known else sum(known),
        None if None in finished else all(finished),
        chained([part.tokens for part in parts]),
        chained([part.token_log_probabilities for part in parts]),
        alignment,
    )


def chained(lists: Sequence[Any]) -> list | None:
    """Lists one after the other; None if they weren't requested."""
    return None if None in lists else [*itertools.chain(*lists)]


class ScoredPair(NamedTuple):
    """What a model says of one pair; None is what an export doesn't give.

    Attributes:
        source, target: the pair.
        log_probability: of the whole translation, its end included.
        score: the same, length-normalised as for a search.
        length: tokens, the end included.
        truncated: whether the source or the translation was too long for
            the model and lost its end.
        tokens: as the vocabulary has them.
        token_log_probabilities: as many.
    """

    source: str
    target: str
    log_probability: float
    score: float
    length: int
    truncated: bool | None = None
    tokens: list[str] | None = None
    token_log_probabilities: list[float] | None = None

    @property
    def per_token(self) -> float:
        """The mean of the tokens' log-probabilities."""
        return self.log_probability / self.length if self.length else 0.0


def blank_pair(pair: tuple[str, str]) -> ScoredPair:
    """The result of a pair without text."""
    return ScoredPair(*pair, 0.0, 0.0, 0, False, [], [])


class Truncations:
    """Counts texts that lost their end, for one message about all.

    Args:
        truncated: whether each of the first did.

    Attributes:
        count: how many there are.
    """

    def __init__(self, truncated: Iterable[bool] = ()) -> None:
        self.count = 0
        self._first: list[int] = []
        for number, lost in enumerate(truncated, 1):
            if lost:
                self.add(number)

    def add(self, number: int) -> None:
        """Counts a text, by its number from 1."""
        self.count += 1
        if len(self._first) < _NAMED:
            self._first.append(number)

    def message(self, unit: str = "texts") -> str:
        """How many lost their end, the numbers of the first, and why.

        Args:
            unit: a plural, what they are.
        """
        named = ", ".join(map(str, self._first))
        more = ", ..." if self.count > _NAMED else ""
        return f"{self.count:,} truncated {unit} (number {named}{more}): {WHY}"

    def warn(self) -> None:
        """Warns once of all, if there are any."""
        if self.count:
            # The line that called the caller.
            warnings.warn(self.message(), stacklevel=3)


def translations_of(
    lines: Sequence[str],
    texts: Sequence[Sequence[str]],
    scores: Sequence[Sequence[float]],
    truncated: Sequence[bool] | None = None,
    count: int = 1,
    sentences: Sequence[int] | None = None,
) -> list[Translation]:
    """The results of lines, from what a signature of an export gives.

    Args:
        lines: that were translated.
        texts: K translations of each, the best first.
        scores: as many; `NO_SCORE` in a row that is left over.
        truncated: whether each line lost its end; None: it isn't known.
        count: hypotheses of a line that are requested.
        sentences: how many each line has; None: it isn't known.

    Raises:
        InputError: the export's beam has fewer, or what was given isn't so, as
            a server may answer anything.
    """
    results = []
    unknown: list = [None] * len(lines)
    for line, row, values, lost, number in zip(
        lines,
        texts,
        scores,
        truncated or [False] * len(lines),
        sentences or unknown,
        strict=True,
    ):
        if (
            not _are_hypotheses(row, values)
            or not isinstance(lost, bool)
            or not isinstance(number, int | None)
        ):
            raise InputError(
                f"the answer to {shown(line)} has translations {shown(row)}, "
                f"scores {shown(values)}, truncated {shown(lost)}, sentences "
                f"{shown(number)}. Accepted: texts, as many numbers, a "
                "boolean, an integer"
            )
        if len(values) < count:
            raise InputError(
                f"n-best must be 1 to {len(values)}, the beam size of this "
                f"export. Received: {count}"
            )
        hypotheses = [
            Hypothesis(text, float(score))
            for i, (text, score) in enumerate(zip(row, values, strict=True))
            if i < count and (score > NO_SCORE or i == 0)
        ]
        results.append(Translation(line, hypotheses, lost, sentences=number))
    return results


def _are_hypotheses(texts, scores):
    """Whether a line's are texts, and as many numbers."""
    return (
        isinstance(texts, list | tuple)
        and isinstance(scores, list | tuple)
        and 0 < len(texts) == len(scores)
        and all(map(_is_text, texts))
        and all(map(_is_number, scores))
    )


def _is_text(value):
    """Whether it is a string that can be written as UTF-8."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:  # Half of a character, as JSON may have it.
        return False
    return True


def _is_number(value):
    """Whether it is a number that fits a float."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True
