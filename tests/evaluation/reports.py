"""Pages about small evaluations, for tests."""

from collections.abc import Sequence

from keras_transformer.config.data import DataConfig
from keras_transformer.evaluation.report import Report, report_page
from keras_transformer.evaluation.scoring import Scoring, Texts
from keras_transformer.evaluation.significance import TESTS, Resampling

SOURCES = ["one two", "one two three four", "five", "six six six six six"]
REFERENCES = ["a b c d", "a b c d e f", "g h i j", "k l m n"]
OURS = ["a b c d", "a b c d x y", "", "k l m n"]
THEIRS = ["a b x x", "a b c d e f", "g h i j", "k k k k k"]


def page_of(
    systems: dict | None = None,
    sources: Sequence[str] = SOURCES,
    references: Sequence[str] = REFERENCES,
    *,
    tests: Sequence[str] = TESTS,
    resamples: int = 40,
    language: str = "en",
    truncated: int = 0,
) -> str:
    """The page of systems, of which the first is the evaluated one.

    Args:
        systems: translations by name; None: two of the sources above.
        sources: in English.
        references: as many.
        tests: where there is more than one system.
        resamples: of intervals.
        language: of the translations.
        truncated: sentences that lost an end.
    """
    systems = systems or {"ours": OURS, "theirs": THEIRS}
    scoring = Scoring(
        resampling=Resampling(resamples=resamples, trials=40), tokenize="none"
    )
    name = next(iter(systems))
    tests = tests if len(systems) > 1 else ()
    return report_page(
        Report(
            compared=scoring.compare(systems, references, language, tests),
            systems=systems,
            texts=Texts(list(sources), list(references), list(systems[name])),
            scoring=scoring,
            data=DataConfig(source_language="en", target_language=language),
            truncated=truncated,
        )
    )
