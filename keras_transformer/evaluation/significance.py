"""Significance of scores and of their differences, by sacreBLEU's tests.

A score's interval is a 95 % bootstrap interval, from repeated draws of as many
sentences with replacement. A p-value is the probability that systems of equal
quality differ as much as measured: by paired bootstrap (Koehn 2004), which is
one-sided, so that its p-value is about half of the other test's, or by paired
approximate randomisation (Riezler & Maxwell 2005), which is two-sided. Both
generalise to other sentences of the kind, not to other trainings: two seeds of
one recipe may differ significantly.

Reference: Post 2018 (sacreBLEU), `sacrebleu.significance`.
"""

import contextlib
import dataclasses
import threading
from collections.abc import Mapping, Sequence
from typing import Annotated

from sacrebleu.significance import PairedTest

from keras_transformer.config.validation import Rule, Section
from keras_transformer.errors import InputError, shown
from keras_transformer.evaluation.bleu_chrf import (
    check_texts,
    comparable,
    metrics,
)
from keras_transformer.system.interpreters import environment_variable

BOOTSTRAP, RANDOMISATION = "bs", "ar"
TESTS = (BOOTSTRAP, RANDOMISATION)
# An interval of 95 % leaves out the lowest and the highest of 40 draws.
_FEWEST = 40
# Sentences times draws. sacreBLEU holds 80 bytes of each in a resample, and 10
# in a trial: 3 and 4 GB.
_MOST_RESAMPLED, _MOST_TRIED = 40_000_000, 400_000_000
_SEED = "SACREBLEU_SEED"  # environment variable, as there is no argument
_seeding = threading.Lock()

Interval = tuple[float, float]


@dataclasses.dataclass(frozen=True)
class Resampling(Section):
    """Settings of intervals and p-values.

    Attributes:
        resamples: of the bootstrap; 0: no intervals, and no bootstrap test.
        trials: of approximate randomisation.
        seed: of the draws; the same seed gives the same numbers.
    """

    resamples: Annotated[
        int, Rule("0, or 40 or more", lambda n: n == 0 or n >= _FEWEST)
    ] = 1000
    trials: Annotated[int, Rule("40 or more", lambda n: n >= _FEWEST)] = 10_000
    # With 0, sacreBLEU seeds from the system's entropy.
    seed: Annotated[
        int, Rule("1 or more, below 2^32", lambda n: 0 < n < 2**32)
    ] = 12345

    def fits(self, sentences: int) -> bool:
        """True if the intervals of a number of sentences fit in memory."""
        return sentences * self.resamples <= _MOST_RESAMPLED

    def check(self, sentences: int, tests: Sequence[str] = ()) -> None:
        """Refuses unknown tests, and draws that wouldn't fit in memory.

        Args:
            sentences: number of sentences compared.
            tests: of `TESTS`.

        Raises:
            InputError: says what is accepted.
        """
        if unknown := [test for test in tests if test not in TESTS]:
            raise InputError(
                f"no test {shown(unknown[0])}. Accepted: {', '.join(TESTS)}"
            )
        if BOOTSTRAP in tests and not self.resamples:
            raise InputError("a paired bootstrap needs resamples. Received: 0")
        limits = [("resamples", self.resamples, _MOST_RESAMPLED)]
        if RANDOMISATION in tests:
            limits.append(("trials", self.trials, _MOST_TRIED))
        for name, count, most in limits:
            if sentences * count > most:
                accepted = (
                    f"{most // sentences:,} or less"
                    if most // sentences >= _FEWEST
                    else f"at most {most // _FEWEST:,} sentences"
                )
                raise InputError(
                    f"{count:,} {name} of {sentences:,} sentences take too "
                    f"much memory. Accepted: {accepted}"
                )


@dataclasses.dataclass(frozen=True)
class SystemScores:
    """Scores of one system in a `Comparison`.

    Attributes:
        name: of the system.
        bleu: 0 to 100.
        bleu_interval: its 95 % interval, from and to; None: not requested.
        chrf: 0 to 100.
        chrf_interval: the same of chrF.
        bleu_p_values: of the difference to the first system, by test; empty
            for the first.
        chrf_p_values: the same of chrF.
    """

    name: str
    bleu: float
    bleu_interval: Interval | None
    chrf: float
    chrf_interval: Interval | None
    bleu_p_values: dict[str, float]
    chrf_p_values: dict[str, float]


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Scores of systems on one test set; `dataclasses.asdict` is JSON-able.

    Attributes:
        systems: the scores of each; all others are compared with the first.
        bleu_signature: how BLEU was computed, resamples and seed included.
        chrf_signature: the same for chrF.
        sentences: number of sentences compared.
        resampling: settings of intervals and p-values.
    """

    systems: tuple[SystemScores, ...]
    bleu_signature: str
    chrf_signature: str
    sentences: int
    resampling: Resampling


def compare(
    systems: Mapping[str, Sequence[str]],
    references: Sequence[str],
    language: str,
    *,
    tests: Sequence[str] = TESTS,
    tokenize: str | None = None,
    lowercase: bool = False,
    resampling: Resampling | None = None,
) -> Comparison:
    """BLEU and chrF of systems, with intervals and p-values, by sacreBLEU.

    sacreBLEU counts only draws that exceed the measured difference, so its
    p-values are too low if ties are likely. Here, systems with equal scores get
    1, and if k translations differ, p is at least 2^(1 - k): swapping all or
    none of them leaves the whole difference.

    Args:
        systems: translations by name. All others are compared with the first.
        references: one for each translation, in the same order.
        language: of the texts; see `bleu_tokenizer`.
        tests: "bs" for paired bootstrap, "ar" for paired approximate
            randomisation.
        tokenize: a tokenizer of sacreBLEU's; None: the language's.
        lowercase: whether to ignore case.
        resampling: None: 1,000 resamples, 10,000 trials, sacreBLEU's seed.

    Returns:
        The scores, which are the same for the same arguments.

    Raises:
        InputError: there is no system or no text, the numbers of texts differ,
            a tokenizer or test is unknown, or the draws don't fit in memory.

    Example:

    >>> systems = {"old": ["a b c d e"] * 9, "new": ["a b c d f"] * 9}
    >>> compared = compare(systems, ["a b c d f"] * 9, "en")
    >>> [f"{system.bleu:.1f}" for system in compared.systems]
    ['66.9', '100.0']
    """
    resampling = resampling or Resampling()
    if not systems:
        raise InputError("nothing to compare. Received: 0 systems")
    for translations in systems.values():
        check_texts(translations, references)
    tests = tests if len(systems) > 1 else ()
    resampling.check(len(references), tests)
    texts = [(name, comparable(texts)) for name, texts in systems.items()]
    drawn = _Drawn(texts, comparable(references), resampling)
    scorers = metrics(language, tokenize, lowercase)
    columns, signatures = {}, {}
    for name, metric in scorers.items():
        columns[name], signatures[name] = _scores(drawn, metric, tests)
    return Comparison(
        systems=tuple(
            SystemScores(
                name, bleu[0], bleu[1], chrf[0], chrf[1], bleu[2], chrf[2]
            )
            for name, bleu, chrf in zip(
                systems, columns["bleu"], columns["chrf"], strict=True
            )
        ),
        bleu_signature=signatures["bleu"],
        chrf_signature=signatures["chrf"],
        sentences=len(references),
        resampling=resampling,
    )


def score_text(score: float, interval: Interval | None, digits: int = 1) -> str:
    """A score with its interval, "28.9 (27.5 to 30.3)"."""
    text = f"{score:.{digits}f}"
    if interval is None:
        return text
    low, high = interval
    return f"{text} ({low:.{digits}f} to {high:.{digits}f})"


def p_value_text(value: float) -> str:
    """A p-value with three digits, or "< 0.001"."""
    return f"{value:.3f}" if value >= 0.001 else "< 0.001"


@dataclasses.dataclass(frozen=True)
class _Drawn:
    """Arguments for sacreBLEU: named systems, references, settings."""

    systems: list
    references: list
    resampling: Resampling

    def test(self, systems, metric, kind, count, confidence=-1):
        """The signature and a `Result` for each system."""
        references = [self.references]
        with _seeded(self.resampling.seed):
            test = PairedTest(
                systems, {"": metric}, references, kind, count, confidence
            )
            signatures, results = test()
        del results["System"]
        return *map(str, signatures.values()), *results.values()

    def least_p(self, number):
        """The least p-value if k translations differ: see `compare`."""
        first, other = self.systems[0][1], self.systems[number][1]
        k = sum(a != b for a, b in zip(first, other, strict=True))
        return 2.0 ** min(0, 1 - k)


def _scores(drawn, metric, tests):
    """Score, interval and p-values of each system; and the signature.

    The signature is that of the intervals, which sacreBLEU's own
    `corpus_score` would give, too.
    """
    count = drawn.resampling.resamples
    scored: list = []
    for system in drawn.systems:
        if count:
            signature, (result,) = drawn.test(
                [system], metric, BOOTSTRAP, count
            )
            # With few sentences, an interval may exceed the range of scores.
            ends = result.mean - result.ci, result.mean + result.ci
            low, high = (min(max(float(end), 0.0), 100.0) for end in ends)
            interval = low, high
            scored.append((result.score, interval, {}))
        else:
            score = metric.corpus_score(system[1], [drawn.references]).score
            signature = str(metric.get_signature())
            scored.append((score, None, {}))
    # Rounding may carry a perfect score beyond 100.
    scored = [(min(score, 100.0), *more) for score, *more in scored]
    for kind in tests:
        trials = drawn.resampling.trials
        _, results = drawn.test(
            drawn.systems,
            metric,
            kind,
            count if kind == BOOTSTRAP else trials,
        )
        for number, result in enumerate(results):
            score, _, p_values = scored[number]
            if result.p_value is not None:
                equal = score == scored[0][0]
                p = max(result.p_value, drawn.least_p(number))
                p_values[kind] = 1.0 if equal else p
    return scored, signature


@contextlib.contextmanager
def _seeded(seed):
    """Makes sacreBLEU use a seed, whatever the environment sets."""
    with _seeding, environment_variable(_SEED, str(seed)):
        yield
