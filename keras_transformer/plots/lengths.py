"""Sentence lengths of a corpus, and the padding of the batches made of it."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from keras_transformer.data.batch_plan import BatchSize, plan_pool
from keras_transformer.errors import InputError
from keras_transformer.plots.style import (
    BLUE,
    ORANGE,
    labels,
    new_figure,
    styled,
)

# What a model's input has beside the tokens: START and END of a source,
# START of a target.
_FRAME = np.array([2, 1])
_SIDES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("source", {"color": BLUE, "fill": True, "alpha": 0.45}),
    ("target", {"color": ORANGE, "hatch": "///", "linewidth": 1.5}),
)


@styled
def plot_lengths(lengths: np.ndarray, *, language: str = "en") -> Figure:
    """Histograms of source and target lengths, one over the other.

    Args:
        lengths: int `(P, 2)`, source and target tokens of each pair, as
            `PreparedData.lengths` gives them.
        language: "en" or "zh".

    Raises:
        InputError: there is no pair.
    """
    lengths = np.asarray(lengths)
    if not len(lengths):
        raise InputError("no sentence pair, hence no lengths to show")
    label = labels(language)
    figure = new_figure(7, 3.4)
    axes = figure.add_subplot()
    edges = _edges(lengths.max())
    for (side, look), values in zip(_SIDES, lengths.T, strict=True):
        counts, _ = np.histogram(values, edges)
        median = f"{label('median')} {np.median(values):g}"
        axes.stairs(counts, edges, label=f"{label(side)}, {median}", **look)
    axes.set_xlabel(label("Length (tokens)"))
    axes.set_ylabel(label("Sentence pairs"))
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.legend()
    return figure


def _edges(longest):
    """Bars around whole numbers, at most some 60 of them."""
    width = -(-(int(longest) + 1) // 60)
    return np.arange(-0.5, longest + width + 0.5, width)


@styled
def plot_padding_share(
    shares: dict[str, tuple[float, float]], *, language: str = "en"
) -> Figure:
    """Padding of source and target for each way of making batches.

    Args:
        shares: `{name: (source, target)}`, fractions of the positions, 0 to 1,
            as `padding_shares` gives them.
        language: "en" or "zh".
    """
    label = labels(language)
    figure = new_figure(7, 0.75 * len(shares) + 1.2)
    axes = figure.add_subplot()
    rows = np.arange(len(shares))
    looks: dict[str, dict[str, Any]] = {
        "source": {"color": BLUE},
        "target": {"color": ORANGE, "hatch": "///"},
    }
    for side, (name, look) in enumerate(looks.items()):
        percents = [100 * values[side] for values in shares.values()]
        bars = axes.barh(
            rows + 0.19 * (2 * side - 1),
            percents,
            height=0.36,
            edgecolor="white",
            label=label(name),
            **look,
        )
        axes.bar_label(bars, fmt="{:.1f}", padding=3)
    axes.set_yticks(rows, [label(name) for name in shares])
    axes.invert_yaxis()
    axes.margins(x=0.1)
    axes.set_xlabel(label("Padding (% of positions)"))
    figure.legend(loc="outside lower right", ncols=2)
    return figure


def padding_shares(
    lengths: np.ndarray,
    batch_sentences: int = 128,
    batch_tokens: int = 4096,
    seed: int = 1,
) -> dict[str, tuple[float, float]]:
    """Shares of padding for several ways of cutting a corpus into batches.

    In any order; sorted by source length, as the notebooks do; by the
    buckets of this package, with as many sentences a batch; by its buckets
    with a budget of tokens.

    Args:
        lengths: int `(P, 2)`, source and target tokens of each pair.
        batch_sentences: of the first three ways.
        batch_tokens: positions of a batch on either side, of the last.
        seed: of the first order.

    Returns:
        `{name: (source, target)}`, fractions of the positions, 0 to 1.

    Raises:
        InputError: there is no pair.
    """
    lengths = np.asarray(lengths) + _FRAME
    if not len(lengths):
        raise InputError("no sentence pair, hence no batches")
    any_order = np.random.default_rng(seed).permutation(len(lengths))
    by_source = np.argsort(lengths[:, 0], kind="stable")
    ways = {
        "in any order": _cut(any_order, batch_sentences),
        "sorted by source (notebook)": _cut(by_source, batch_sentences),
        "buckets": plan_pool(lengths, BatchSize(batch_tokens, batch_sentences)),
        "buckets by tokens": plan_pool(lengths, BatchSize(batch_tokens)),
    }
    return {name: _share(lengths, ways[name]) for name in ways}


def _cut(order, size):
    return [order[i : i + size] for i in range(0, len(order), size)]


def _share(lengths, batches):
    """Padding over positions of both sides, for batches of indices."""
    positions = sum(
        len(batch) * lengths[batch].max(axis=0) for batch in batches
    )
    return tuple((1 - lengths.sum(axis=0) / positions).tolist())
