"""Quality and speed of several runs side by side."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from keras_transformer.errors import InputError
from keras_transformer.plots.style import (
    BLUE,
    drawable,
    labels,
    new_figure,
    styled,
)

if TYPE_CHECKING:
    from keras_transformer.training.run import Run


# Key of a row, label, number format.
_PANELS = (
    ("cross_entropy", "Dev cross-entropy (nats per token)", "{:.3f}"),
    ("bleu", "BLEU", "{:.1f}"),
    ("tokens_per_second", "Target tokens per second", "{:,.0f}"),
    ("minutes", "Minutes of training", "{:.1f}"),
)


@styled
def plot_runs(rows: list[dict], *, language: str = "en") -> Figure:
    """Bars for each run: dev loss, BLEU, speed, time.

    A panel that no run has a number for is left out.

    Args:
        rows: a dict for each run, see `run_row`: `name`, and the known ones
            of `cross_entropy`, `bleu`, `tokens_per_second`, `minutes`.
        language: "en" or "zh".

    Raises:
        InputError: there is no run, or no run has a number.
    """
    label = labels(language)
    panels = [
        panel
        for panel in _PANELS
        if any(row.get(panel[0]) is not None for row in rows)
    ]
    if not panels:
        raise InputError(
            "nothing to compare: no run has a finished epoch or a score"
        )
    figure = new_figure(2.4 * len(panels) + 1.2, 0.4 * len(rows) + 1)
    all_axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    positions = np.arange(len(rows))
    for axes, (key, name, form) in zip(all_axes, panels, strict=True):
        values = [row.get(key) for row in rows]
        bars = axes.barh(
            positions, [value or 0 for value in values], color=BLUE, height=0.6
        )
        texts = ["–" if v is None else form.format(v) for v in values]
        axes.bar_label(bars, texts, padding=3)
        axes.margins(x=0.3)
        axes.set_xlabel(label(name))
        axes.xaxis.set_major_formatter("{x:,g}")
    all_axes[0].set_yticks(positions, [drawable(row["name"]) for row in rows])
    all_axes[0].invert_yaxis()
    return figure


def run_row(run: Run, name: str | None = None) -> dict:
    """Quality and speed of a run, from its folder.

    Cross-entropy and BLEU are those of the best epoch on the dev set. If BLEU
    wasn't measured during training, it is that of the first test set in the
    run's scores. Speed is the median over the epochs.

    Args:
        run: a `Run`.
        name: for the plot; None: the folder's.
    """
    history = run.history()
    scores = run.manifest["scores"]
    best = scores.get("best", {})
    bleu = [best.get("val_bleu")]
    bleu += [v.get("bleu") for k, v in scores.items() if k != "best"]
    speeds = [
        epoch["tokens_per_second"]
        for epoch in history
        if "tokens_per_second" in epoch
    ]
    seconds = sum(epoch.get("seconds", 0.0) for epoch in history)
    return {
        "name": name or run.folder.resolve().name,
        "cross_entropy": best.get("val_cross_entropy"),
        "bleu": next((v for v in bleu if v is not None), None),
        "tokens_per_second": statistics.median(speeds) if speeds else None,
        "minutes": seconds / 60 if seconds else None,
    }
