"""Translation requests and results: plain data, without TensorFlow."""

import dataclasses
import itertools
import numbers
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from keras_transformer.constants import NO_SCORE
from keras_transformer.errors import InputError, shown

# Reasons for truncation, for messages.
WHY = (
    "more tokens than the model takes, or a translation that reached its limit"
)
# `markup`: translated like other text, or placed by the alignment.
KEEP, PROJECT = "keep", "project"
# Truncated texts whose numbers a message lists.
_NAMED = 5


@dataclasses.dataclass(frozen=True)
class TranslationRequest:
    """Outputs requested for each line in addition to its translation.

    Attributes:
        n_best: hypotheses, the best first; None: the best alone.
        scores: the score of each.
        token_scores: the log-probability of each token.
        alignment: the attention weights of each token.
        prefixes: translations that begin as requested: each line is a pair
            of the source and the prefix, "" for none.
        json: all known details, as JSON.
        markup: `KEEP` or `PROJECT`, how tags and placeholders are handled;
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
        """Number of hypotheses of a line."""
        return 1 if self.n_best is None else self.n_best

    @property
    def is_plain(self) -> bool:
        """True if only the best translation and its score are requested."""
        return self == TranslationRequest(
            scores=self.scores,
            markup=self.markup,
            placeholders=self.placeholders,
        )


class Hypothesis(NamedTuple):
    """One of a line's translations; None for values that weren't requested.

    Attributes:
        text: the translation.
        score: log-probability, length-normalised.
        log_probability: of the whole translation.
        finished: whether it ended before its limit.
        tokens: as in the vocabulary, the end token included.
        token_log_probabilities: one for each token.
        alignment: for each token its attention weights over the source
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
        """The translation in one line, as a model may generate line ends."""
        return " ".join(self.text.splitlines())


class Translation(NamedTuple):
    """One line's result.

    Attributes:
        source: the line.
        hypotheses: the best first.
        truncated: whether the line had more tokens than the model has
            positions, or its translation reached the limit.
        source_tokens: as written in the line, "" for its start and end.
        sentences: number of sentences, each translated by itself; None:
            unknown.
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
        line: the source, or the source and the prefix of its translation.
        text: of the result, "" or markup alone.
    """
    source = line if isinstance(line, str) else line[0]
    nothing = Hypothesis(text, 0.0, 0.0, True, [], [], [])
    return Translation(source, [nothing], False, [], 0)


def of_rank(translation: Translation, rank: int) -> Hypothesis:
    """The hypothesis of a rank from 0, or the last one if there are fewer."""
    hypotheses = translation.hypotheses
    return hypotheses[min(rank, len(hypotheses) - 1)]


def joined_translation(
    line: str, results: Sequence[Translation], texts: Sequence[str]
) -> Translation:
    """The result of a text of several sentences or parts.

    Args:
        line: the text.
        results: of its parts, one or more.
        texts: the joined text of each rank; more ranks are ignored.
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
    """Joins one hypothesis of each sentence; `widths` are source tokens."""
    known = [part.log_probability for part in parts]
    finished = [part.finished for part in parts]
    alignment = None
    if None not in (alignments := [part.alignment for part in parts]):
        # A sentence's tokens don't attend to other sentences.
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
    """Concatenates lists; None if they weren't requested."""
    return None if None in lists else [*itertools.chain(*lists)]


class ScoredPair(NamedTuple):
    """The scores of one pair; None for values that an export doesn't return.

    Attributes:
        source, target: the pair.
        log_probability: of the whole translation, its end included.
        score: the same, length-normalised as in a search.
        length: tokens, the end included.
        truncated: whether the source or the translation was too long for
            the model and was cut.
        tokens: as in the vocabulary.
        token_log_probabilities: one for each token.
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
    """Counts truncated texts, for a single message about all of them.

    Args:
        truncated: whether each of the first texts was truncated.

    Attributes:
        count: the number of truncated texts.
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
        """The count, the numbers of the first truncated texts, and why.

        Args:
            unit: plural noun for the texts.
        """
        named = ", ".join(map(str, self._first))
        more = ", ..." if self.count > _NAMED else ""
        return f"{self.count:,} truncated {unit} (number {named}{more}): {WHY}"

    def warn(self) -> None:
        """Warns once of all truncated texts, if there are any."""
        if self.count:
            # Names the line that called the API function.
            warnings.warn(self.message(), stacklevel=3)


def translations_of(
    lines: Sequence[str],
    texts: Sequence[Sequence[str]],
    scores: Sequence[Sequence[float]],
    truncated: Sequence[bool] | None = None,
    count: int = 1,
    sentences: Sequence[int] | None = None,
) -> list[Translation]:
    """The results of lines, from the outputs of an export's signature.

    Args:
        lines: the translated lines.
        texts: K translations of each, the best first.
        scores: one for each translation; `NO_SCORE` in unused rows.
        truncated: whether each line was truncated; None: unknown.
        count: hypotheses requested for each line.
        sentences: number of sentences of each line; None: unknown.

    Raises:
        InputError: the export's beam is smaller than `count`, or a value has
            another type, as a server may answer anything.
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
    """True for a line's texts and as many numbers."""
    return (
        isinstance(texts, list | tuple)
        and isinstance(scores, list | tuple)
        and 0 < len(texts) == len(scores)
        and all(map(_is_text, texts))
        and all(map(_is_number, scores))
    )


def _is_text(value):
    """True for a string that can be encoded as UTF-8."""
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:  # A lone surrogate, which JSON can contain.
        return False
    return True


def _is_number(value):
    """True for a number that fits a float."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return False
    try:
        float(value)
    except OverflowError:
        return False
    return True
