"""Training curves, epoch by epoch."""

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from keras_transformer.errors import InputError
from keras_transformer.plots.style import labels, line, new_figure, styled


@styled
def plot_training_curves(
    history: list[dict], *, language: str = "en"
) -> Figure:
    """Cross-entropy, BLEU, learning rate and speed of each epoch.

    Shows token accuracy instead if BLEU was never measured.

    Args:
        history: a dict per epoch, see `Run.history`.
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
    """Draws a line for each part of the data that was measured.

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
