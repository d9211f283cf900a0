"""Pictures that only the tutorial shows, drawn in the style of `plots`."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from keras import ops
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from keras_transformer.constants import PAD_ID, SPECIAL_TOKENS, UNK_ID
from keras_transformer.data.batch_plan import BatchSize, plan_pool
from keras_transformer.layers.masks import (
    decoder_mask,
    padding_mask,
    token_weights,
)
from keras_transformer.layers.positional_embedding import sinusoids
from keras_transformer.plots.style import (
    BLUE,
    HEAT,
    ORANGE,
    labels,
    line,
    new_figure,
    styled,
    token_ticks,
)
from keras_transformer.training.loss import SmoothedCrossEntropy
from keras_transformer.training.schedule import WarmupSchedule

PALE = "#eeeeee"
# Text on the colours of a heat map. These are tinted, as greys are exchanged
# where a picture is shown on dark paper.
ON_BRIGHT, ON_DEEP = "#10103c", "#ffffd0"
_POINTS = 400  # of a curve of learning rates; more wouldn't be seen
# What a model's input has beside the tokens: START and END of a source,
# START of a target.
_FRAME = np.array([2, 1])


@styled
def plot_positions_heatmap(
    length: int = 64,
    d_model: int = 64,
    *,
    language: str = "en",
) -> Figure:
    """Draws the encoding that is added to the embedding at each position.

    Args:
        length: positions shown.
        d_model: int, even, width D.
        language: "en" or "zh".

    Reference: Vaswani et al. 2017, section 3.5.
    """
    label = labels(language)
    values = sinusoids(length, d_model)
    figure = new_figure(6, 4.5)
    axes = figure.add_subplot()
    image = axes.imshow(
        values, aspect="auto", cmap="cividis", interpolation="none"
    )
    axes.set_xlabel(label("Dimension"))
    axes.set_ylabel(label("Position"))
    figure.colorbar(image, ax=axes, label=label("Value"))
    return figure


@styled
def plot_positions_curves(
    length: int = 100,
    d_model: int = 64,
    dimensions: Sequence[int] = (4, 5, 6, 7),
    *,
    language: str = "en",
) -> Figure:
    """Some dimensions of the position encoding along the positions.

    Args:
        length: positions shown.
        d_model: int, even, width D.
        dimensions: which, from 0.
        language: "en" or "zh".
    """
    label = labels(language)
    values = sinusoids(length, d_model)
    figure = new_figure(7, 3.2)
    axes = figure.add_subplot()
    for number, dimension in enumerate(dimensions):
        axes.plot(
            values[:, dimension],
            label=f"{label('dimension')} {dimension}",
            **line(number, len(values)),
        )
    axes.set_xlabel(label("Position"))
    axes.set_ylabel(label("Value"))
    figure.legend(loc="outside right upper")
    return figure


@styled
def plot_masks(
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    *,
    language: str = "en",
) -> Figure:
    """The three masks of one pair, queries from top to bottom.

    Args:
        source_tokens: S str, as the encoder reads them, with `<pad>`.
        target_tokens: T str, as the decoder reads them, with `<pad>`.
        language: "en" or "zh".
    """
    label = labels(language)
    source, target = list(source_tokens), list(target_tokens)
    panels = [
        ("Encoder self-attention", source, source, padding_mask(_ids(source))),
        ("Decoder self-attention", target, target, decoder_mask(_ids(target))),
        ("Cross-attention", target, source, padding_mask(_ids(source))),
    ]
    cell = 0.24
    width = 2 * len(source) + len(target)
    figure = new_figure(
        cell * width + 3.4, cell * max(len(source), len(target)) + 1.8
    )
    all_axes = figure.subplots(
        1,
        3,
        width_ratios=[len(columns) for _, _, columns, _ in panels],
    )
    colors = ListedColormap([PALE, BLUE])
    for axes, (title, rows, columns, mask) in zip(
        all_axes, panels, strict=True
    ):
        mask = ops.convert_to_numpy(mask)[0]
        mask = np.broadcast_to(mask, (len(rows), len(columns)))
        axes.pcolormesh(
            *(np.arange(size + 1) - 0.5 for size in mask.shape[::-1]),
            mask,
            cmap=colors,
            vmin=0,
            vmax=1,
            edgecolor="white",
            linewidth=1,
        )
        axes.invert_yaxis()
        axes.set_aspect("equal", anchor="N")
        token_ticks(axes, rows, columns)
        axes.set_title(label(title))
    figure.legend(
        handles=[
            Patch(facecolor=BLUE, label=label("visible")),
            Patch(facecolor=PALE, edgecolor="grey", label=label("hidden")),
        ],
        loc="outside lower center",
        ncols=2,
    )
    return figure


def _ids(tokens):
    """int32 `(1, S)`: which are padding is all that masks look at."""
    pad = SPECIAL_TOKENS[PAD_ID]
    ids = [PAD_ID if token == pad else UNK_ID for token in tokens]
    return np.array([ids], np.int32)


@styled
def plot_smoothing_table(
    smoothing: float = 0.1,
    num_classes: int = 5,
    targets: Sequence[int] = (2, 1, 4, PAD_ID),
    *,
    language: str = "en",
) -> Figure:
    """Draws the targets that the loss compares with, with the numbers.

    Args:
        smoothing: float, the probability that is taken from the true token.
        num_classes: int, V, padding included.
        targets: ids of the true tokens, a row each.
        language: "en" or "zh".
    """
    label = labels(language)
    table = smoothed_targets(targets, num_classes, smoothing)
    rows, columns = table.shape
    figure = new_figure(0.75 * columns + 2.2, 0.5 * rows + 1.1)
    axes = figure.add_subplot()
    image = axes.imshow(
        table, cmap=HEAT, vmin=0, vmax=1, aspect="auto", interpolation="none"
    )
    for (row, column), value in np.ndenumerate(table):
        axes.text(
            column,
            row,
            f"{value:.3f}".rstrip("0").rstrip("."),
            ha="center",
            va="center",
            color=ON_BRIGHT if value > 0.6 else ON_DEEP,
        )
    names = [_name(i, label) for i in range(num_classes)]
    axes.set_xticks(range(columns), names)
    axes.set_yticks(range(rows), [_name(i, label) for i in targets])
    axes.set_xlabel(label("Vocabulary"))
    axes.set_ylabel(label("Target token"))
    figure.colorbar(image, ax=axes, label=label("probability"))
    return figure


def smoothed_targets(
    targets: Sequence[int] | np.ndarray, num_classes: int, smoothing: float
) -> np.ndarray:
    """The distributions that `SmoothedCrossEntropy` compares with.

    They are read off the loss: with logits that are 1 at token v and 0
    elsewhere it is `log(V - 1 + e)` less what the target gives to v.

    Args:
        targets: ids `(T,)`.
        num_classes: int, V.
        smoothing: float.

    Returns:
        float32 array `(T, V)`; 0 in the row of padding.
    """
    loss = SmoothedCrossEntropy(smoothing)
    labels = np.repeat(np.array(targets, np.int32)[:, None], num_classes, 1)
    logits = np.broadcast_to(
        np.eye(num_classes, dtype="float32"),
        (len(labels), num_classes, num_classes),
    )
    losses = ops.convert_to_numpy(loss.call(labels, logits))
    table = np.log(num_classes - 1 + np.e) - losses
    table = table * ops.convert_to_numpy(token_weights(labels))
    return np.round(table, 6).astype("float32") + 0.0


def _name(token, label):
    return f"{token}\n({label('padding')})" if token == PAD_ID else str(token)


@styled
def plot_learning_rates(
    settings: Sequence[tuple] = ((512, 4000), (512, 8000), (256, 4000)),
    num_steps: int = 20_000,
    *,
    language: str = "en",
) -> Figure:
    """Warm-up, then the inverse square root, a curve for each setting.

    Args:
        settings: `(d_model, warmup_steps)` or `(d_model, warmup_steps,
            factor)`, see `WarmupSchedule`.
        num_steps: int, steps shown.
        language: "en" or "zh".

    Reference: Vaswani et al. 2017, equation 3.
    """
    label = labels(language)
    figure = new_figure(7, 3.2)
    axes = figure.add_subplot()
    for number, setting in enumerate(settings):
        steps, rates = rates_of(setting, num_steps)
        d_model, warmup_steps = setting[:2]
        axes.plot(
            steps,
            rates,
            label=f"D = {d_model}, {label('warm-up')} {warmup_steps:,}",
            **line(number, len(steps)),
        )
    axes.set_xlabel(label("Step"))
    axes.set_ylabel(label("Learning rate"))
    axes.set_ylim(bottom=0)
    axes.ticklabel_format(axis="y", scilimits=(0, 0), useMathText=False)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    figure.legend(loc="outside right upper")
    return figure


def rates_of(setting: tuple, num_steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Steps, from 1, and the rates there; the peak is among them.

    Args:
        setting: arguments of `WarmupSchedule`.
        num_steps: int.

    Returns:
        int64 and float32 arrays of equal length.
    """
    steps = np.linspace(1, num_steps, min(num_steps, _POINTS)).astype("int64")
    warmup_steps = setting[1]
    if warmup_steps <= num_steps:
        steps = np.union1d(steps, [warmup_steps])
    # Keras numbers the first step 0.
    rates = WarmupSchedule(*setting)(steps - 1)
    return steps, ops.convert_to_numpy(rates)


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
    """
    lengths = np.asarray(lengths) + _FRAME
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
