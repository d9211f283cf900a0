"""Training curves, epoch by epoch, and the learning rate, step by step."""

from collections.abc import Sequence

import numpy as np
from keras import ops
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from keras_transformer.errors import InputError
from keras_transformer.plots.style import labels, line, new_figure, styled
from keras_transformer.training.schedule import WarmupSchedule

_POINTS = 400  # a curve; more wouldn't be seen


@styled
def plot_training_curves(
    history: list[dict], *, language: str = "en"
) -> Figure:
    """Cross-entropy, BLEU, learning rate and speed of each epoch.

    Where BLEU was never measured, token accuracy is in its place.

    Args:
        history: a dict per epoch, as `Run.history` gives it.
        language: "en" or "zh".

    Raises:
        InputError: no epoch was finished.
    """
    if not history:
        raise InputError("the history is empty: no epoch was finished")
    label = labels(language)
    figure = new_figure(7.5, 5)
    (loss, quality), (rate, speed) = figure.subplots(2, 2, sharex=True)
    both = [("training", ""), ("dev", "val_")]
    _curves(loss, history, label, "cross_entropy", both)
    loss.set_ylabel(label("Cross-entropy (nats per token)"))
    if any("val_bleu" in epoch for epoch in history):
        _curves(quality, history, label, "bleu", both[1:])
        quality.set_ylabel(label("Dev BLEU"))
    else:
        _curves(quality, history, label, "token_accuracy", both)
        quality.set_ylabel(label("Token accuracy"))
    _curves(rate, history, label, "learning_rate", both[:1])
    rate.set_ylabel(label("Learning rate"))
    rate.ticklabel_format(axis="y", scilimits=(0, 0), useMathText=False)
    _curves(speed, history, label, "tokens_per_second", both[:1])
    speed.set_ylabel(label("Target tokens per second"))
    for axes in (loss, quality, rate, speed):
        axes.grid(alpha=0.3)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    speed.yaxis.set_major_formatter("{x:,.0f}")
    loss.set_ylim(bottom=0)
    for axes in (rate, speed):
        axes.set_xlabel(label("Epoch"))
        axes.set_ylim(bottom=0)
    return figure


def _curves(axes, history, label, key, parts):
    """A line for each part of the data that was measured.

    Args:
        parts: `(name, prefix of the key)` of each.
    """
    for number, (name, prefix) in enumerate(parts):
        points = [
            (epoch["epoch"], epoch[prefix + key])
            for epoch in history
            if prefix + key in epoch
        ]
        if points:
            axes.plot(
                *zip(*points, strict=True),
                label=label(name),
                **line(number, len(points)),
            )
    if len(axes.lines) > 1:
        axes.legend()


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
