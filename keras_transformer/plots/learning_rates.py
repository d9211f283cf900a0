"""The learning rate along training, for several settings."""

from collections.abc import Sequence

import numpy as np
from keras import ops
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from keras_transformer.plots.style import line, new_figure, styled
from keras_transformer.plots.words import labels
from keras_transformer.training.schedule import WarmupSchedule

_POINTS = 400  # a curve; more wouldn't be seen


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


def rates_of(setting, num_steps: int):
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
