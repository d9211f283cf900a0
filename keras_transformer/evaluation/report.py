"""Report of an evaluation: one HTML file, in English and Chinese.

The page loads nothing and runs no script: its content security policy allows
only its own style, by digest. Sentences and names are escaped, and each is in
an element with its own writing direction.
"""

import base64
import dataclasses
import hashlib
import html
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sacrebleu.metrics import CHRF

from keras_transformer.blank import is_blank
from keras_transformer.config.data import DataConfig
from keras_transformer.evaluation.analysis import (
    groups_by_length,
    is_spaceless,
    output_statistics,
)
from keras_transformer.evaluation.bleu_chrf import comparable
from keras_transformer.evaluation.scoring import Scoring, Texts
from keras_transformer.evaluation.significance import (
    BOOTSTRAP,
    RANDOMISATION,
    Comparison,
    Resampling,
    p_value_text,
    score_text,
)
from keras_transformer.system.files import read_yaml

_FOLDER = pathlib.Path(__file__).parent
_STYLE = (_FOLDER / "report.css").read_text(encoding="utf-8")
_CHINESE = read_yaml(_FOLDER / "report_labels_zh.yaml")
_SHOWN = 10  # sentences of each kind
# With fewer sentences, a bootstrap's interval is too narrow; with one, it has
# no width at all.
_FEWEST_WITH_INTERVAL = 10
# Not allowed in HTML, or invisible.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_METRICS = (("bleu", "BLEU"), ("chrf", "chrF"))
_TESTS = {BOOTSTRAP: "p, bootstrap", RANDOMISATION: "p, randomisation"}


@dataclasses.dataclass(frozen=True)
class Report:
    """Content of a report of an evaluation.

    Attributes:
        compared: the scores; the first system is the one that was evaluated.
        systems: translations by name, in the same order.
        texts: sources and references.
        scoring: settings by which the systems were scored.
        data: names the languages.
        truncated: number of truncated sentences, see `Evaluation`.
    """

    compared: Comparison
    systems: Mapping[str, Sequence[str]]
    texts: Texts
    scoring: Scoring
    data: DataConfig
    truncated: int


def report_page(report: Report) -> str:
    """The page's HTML."""
    name = next(iter(report.systems))
    digest = hashlib.sha256(_STYLE.encode()).digest()
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src 'sha256-{base64.b64encode(digest).decode()}'"
    )
    parts = [
        _scores(report),
        _statistics(report),
        _groups(report),
        _sentences(report),
        _signatures(report),
    ]
    count = f"{report.compared.sentences:,}"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{_escaped(name)}</title>
<style>{_STYLE}</style>
</head>
<body>
<input type="radio" name="language" id="en" checked>
<label for="en">English</label>
<input type="radio" name="language" id="zh">
<label for="zh" lang="zh-Hans">中文</label>
<main>
<h1>{_label("Evaluation of {name}", name=name)}</h1>
<p>{_label("{sentences} sentences", sentences=count)}</p>
{"".join(parts)}</main>
</body>
</html>
"""


def _scores(report):
    compared = report.compared
    tests = list(compared.systems[-1].bleu_p_values)
    columns = ["System"]
    for _, shown in _METRICS:
        columns += [shown, *(_TESTS[test] for test in tests)]
    rows = []
    for system in compared.systems:
        row = [_text(system.name)]
        for name, _ in _METRICS:
            p_values = getattr(system, f"{name}_p_values")
            row.append(_score(system, name))
            row += [
                _escaped(p_value_text(p_values[test]) if p_values else "")
                for test in tests
            ]
        rows.append(row)
    notes = [_label("No intervals were computed.")]
    drawn = compared.resampling
    if drawn.resamples:
        notes = [
            _label(
                "Intervals are of 95 %, by bootstrap with {resamples} "
                "resamples, seed {seed}.",
                resamples=f"{drawn.resamples:,}",
                seed=drawn.seed,
            )
        ]
    notes += _test_notes(compared, tests)
    if report.truncated:
        notes.append(
            _label(
                "Truncated sentences: {count}. The source or the reference has "
                "more tokens than the model takes, or the translation reached "
                "its limit.",
                count=f"{report.truncated:,}",
            )
        )
    return _section("Scores", _table(columns, rows), *map(_note, notes))


def _test_notes(compared, tests):
    """Notes on the p-values, if there are any."""
    if not tests:
        return
    yield _label(
        "The p-values are of the difference to {name}. Below 0.05, it is more "
        "than the choice of the sentences explains, even where intervals "
        "overlap. What another seed of the training would give, no p-value "
        "tells.",
        name=compared.systems[0].name,
    )
    if RANDOMISATION in tests:
        yield _label(
            "Randomisation: paired and approximate, {trials} trials.",
            trials=f"{compared.resampling.trials:,}",
        )


def _statistics(report):
    columns = ["Translations", "Length ratio", "Repeated 2-grams"]
    columns += ["Repeated 4-grams", "Empty", "Copied sources"]
    systems = [(_text(name), texts) for name, texts in report.systems.items()]
    systems.append((_label("References"), report.texts.references))
    rows = []
    for name, texts in systems:
        one = output_statistics(
            report.texts.sources,
            report.texts.references,
            texts,
            report.data.target_language,
            report.scoring.tokenize,
        )
        rows.append(
            [
                name,
                f"{one.length_ratio:.3f}",
                f"{one.repeated_2grams:.2%}",
                f"{one.repeated_4grams:.2%}",
                f"{one.empty:,}",
                f"{one.copied:,}",
            ]
        )
    note = _label(
        "The length ratio is the number of BLEU's tokens, divided by that of "
        "the references. A repeated n-gram stood in the same translation "
        "before. A copied source is the translation, but for case and "
        "punctuation, where the reference is another text."
    )
    return _section("Translations", _table(columns, rows), _note(note))


def _groups(report):
    language = report.data.source_language
    unit = "Characters" if is_spaceless(language) else "Words"
    groups = groups_by_length(report.texts.sources, language)
    table = _group_table(report, groups, f"{unit} of the source")
    few = _label(
        "Groups of less than {count} sentences have no interval.",
        count=_FEWEST_WITH_INTERVAL,
    )
    return _section("By length of the source", table, _note(few))


def _group_table(report, groups, what):
    """Scores of each system in each group, as numbers and bars."""
    columns = [what, "Sentences", "System", *(name for _, name in _METRICS)]
    rows, bars = [], []
    for group in groups:
        systems = {
            name: [texts[index] for index in group.indices]
            for name, texts in report.systems.items()
        }
        references = [report.texts.references[i] for i in group.indices]
        scoring = _group_scoring(report.scoring, len(references))
        compared = scoring.compare(
            systems, references, report.data.target_language
        )
        cells = [
            _Heading(_range(group), len(systems)),
            _Heading(f"{len(references):,}", len(systems)),
        ]
        for system in compared.systems:
            rows.append([*cells, _text(system.name)])
            bars.append(system)
            cells = []
    for name, _ in _METRICS:
        ends = [getattr(system, f"{name}_interval") for system in bars]
        ends += [(0, getattr(system, name)) for system in bars]
        most = max((end[1] for end in ends if end), default=1) or 1
        for row, system in zip(rows, bars, strict=True):
            row.append(_score(system, name) + _bar(system, name, most))
    return _table(columns, rows)


def _group_scoring(scoring, sentences):
    """The report's settings, for small groups without intervals."""
    if sentences >= _FEWEST_WITH_INTERVAL:
        return scoring
    resampling = scoring.resampling or Resampling()
    without = dataclasses.replace(resampling, resamples=0)
    return dataclasses.replace(scoring, resampling=without)


def _range(group):
    if group.highest == group.lowest:
        return f"{group.lowest:,}"
    return f"{group.lowest:,}–{group.highest:,}"


def _bar(system, name, most):
    """A bar for a score and its interval; `most` is the full width."""
    width = 100 * max(0, getattr(system, name)) / most
    line = ""
    if interval := getattr(system, f"{name}_interval"):
        low, high = (100 * max(0, end) / most for end in interval)
        line = f'<path d="M{low:.1f} 3H{high:.1f}"/>'
    return (
        '<svg viewBox="0 0 100 6" preserveAspectRatio="none" '
        f'aria-hidden="true"><rect width="{width:.1f}" height="6"/>{line}'
        "</svg>"
    )


def _sentences(report):
    """Best and worst sentences, and those most ahead of and behind others."""
    metric = CHRF(lowercase=report.scoring.lowercase)
    # Normalised as for the scores in the table.
    references = comparable(report.texts.references)
    chrf = {
        name: [
            metric.sentence_score(text, [reference]).score
            for text, reference in zip(
                comparable(texts), references, strict=True
            )
        ]
        for name, texts in report.systems.items()
    }
    own, *others = chrf
    by_own = _label("By chrF of the sentence.")
    parts = [
        _ranked(report, chrf, "Worst sentences", by_own, chrf[own], False),
        _ranked(report, chrf, "Best sentences", by_own, chrf[own], True),
    ]
    for other in others:
        pairs = zip(chrf[own], chrf[other], strict=True)
        ahead = [ours - theirs for ours, theirs in pairs]
        note = _label("By the difference of the sentences' chrF.")
        for title, best in (("ahead of", True), ("behind", False)):
            title = f"Most {title} {{name}}"
            chosen = [v if (v > 0) == best and v else None for v in ahead]
            parts.append(
                _ranked(report, chrf, title, note, chosen, best, name=other)
            )
    return "".join(parts)


def _ranked(report, chrf, title, note, values, best, **names):
    """The sentences of the largest or smallest values that aren't None.

    Among equal values, longer sources come first, as they say more.
    """
    sources = report.texts.sources
    sign = -1 if best else 1
    indices = sorted(
        (i for i, value in enumerate(values) if value is not None),
        key=lambda i: (sign * values[i], -len(sources[i]), i),
    )
    shown = [_sentence(report, chrf, i) for i in indices[:_SHOWN]]
    content = shown or [_note(_label("None."))]
    return _section(title, _note(note), *content, **names)


def _sentence(report, chrf, index):
    """Source, reference and all translations of a sentence."""
    data = report.data
    source = _text(report.texts.sources[index], data.source_language)
    rows = [(_label("Source"), source)]
    translations = [(_label("Reference"), report.texts.references)]
    for name, texts in report.systems.items():
        score = f"{chrf[name][index]:.1f}"
        translations.append((f"{_text(name)} {score}", texts))
    rows += [
        (term, _text(texts[index], data.target_language))
        for term, texts in translations
    ]
    items = "".join(f"<dt>{term}</dt><dd>{text}</dd>" for term, text in rows)
    return f'<div class="sentence"><dl>{items}</dl></div>\n'


def _signatures(report):
    compared = report.compared
    rows = [
        ["BLEU", _escaped(compared.bleu_signature)],
        ["chrF", _escaped(compared.chrf_signature)],
    ]
    return _section("How it was scored", _table([], rows))


def _score(system, name):
    interval = getattr(system, f"{name}_interval")
    text = score_text(getattr(system, name), interval).replace(" to ", " … ")
    return f'<span class="number">{text}</span>'


def _section(title, *content, **names):
    heading = f"<h2>{_label(title, **names)}</h2>"
    return f"<section>\n{heading}\n{''.join(content)}</section>\n"


class _Heading(NamedTuple):
    """A header cell of one or more rows; `content` is HTML already."""

    content: str
    rows: int


def _table(columns, rows):
    """A table of cells that are HTML already."""
    head = "".join(f'<th scope="col">{_label(name)}</th>' for name in columns)
    head = head and f"<thead><tr>{head}</tr></thead>"
    body = "".join(
        f"<tr>{''.join(_cell(cell) for cell in row)}</tr>\n" for row in rows
    )
    table = f"<table>{head}<tbody>\n{body}</tbody></table>"
    # Can be focused by the keyboard, so that it can be scrolled.
    return f'<div class="wide" tabindex="0">{table}</div>\n'


def _cell(cell):
    if isinstance(cell, _Heading):
        return f'<th scope="row" rowspan="{cell.rows}">{cell.content}</th>'
    return f"<td>{cell}</td>"


def _note(content):
    return f'<p class="note">{content}</p>\n'


def _label(text, **values):
    """A label of the page, in both languages.

    Args:
        text: in English; used for both if it has no translation, as BLEU.
        values: of the names in braces, not yet escaped.
    """
    values = {name: _text(str(value)) for name, value in values.items()}
    if text not in _CHINESE:
        return html.escape(text).format(**values)
    return "".join(
        f'<span class="label" lang="{language}">'
        f"{html.escape(words).format(**values)}</span>"
        for language, words in (("en", text), ("zh-Hans", _CHINESE[text]))
    )


def _text(text, language=""):
    """A text of a user or a model, in its own writing direction.

    Args:
        text: such as a sentence, or the name of a run.
        language: its code; "": unknown.
    """
    if is_blank(text):
        return f"<i>{_label('(empty)')}</i>"
    language = _escaped(language)
    return f'<bdi class="text" lang="{language}">{_escaped(text)}</bdi>'


def _escaped(text):
    return html.escape(_CONTROL.sub("\ufffd", text))
