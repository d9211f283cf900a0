"""Curves of a training."""

import pytest

from keras_transformer.errors import InputError
from keras_transformer.plots import plot_training_curves

HISTORY = [
    {
        "epoch": epoch,
        "cross_entropy": 4.0 - epoch,
        "val_cross_entropy": 4.5 - epoch,
        "token_accuracy": 0.2 * epoch,
        "val_token_accuracy": 0.25 * epoch,
        "learning_rate": 1e-3 * epoch,
        "tokens_per_second": 1000.0 + epoch,
    }
    for epoch in (1, 2, 3)
]


def lines(axes):
    return {
        line.get_label(): list(map(float, line.get_ydata()))
        for line in axes.lines
    }


def test_what_was_measured_of_each_epoch():
    loss, quality, rate, speed = plot_training_curves(HISTORY).axes
    assert lines(loss) == {"training": [3, 2, 1], "dev": [3.5, 2.5, 1.5]}
    assert loss.get_ylabel() == "Cross-entropy (nats per token)"
    assert lines(quality)["dev"] == [0.25, 0.5, 0.75]
    assert quality.get_ylabel() == "Token accuracy"
    assert list(lines(rate).values()) == [[0.001, 0.002, 0.003]]
    assert list(lines(speed).values()) == [[1001, 1002, 1003]]
    assert rate.get_xlabel() == speed.get_xlabel() == "Epoch"
    scored = [HISTORY[0], HISTORY[1] | {"val_bleu": 17.5}]
    (line,) = plot_training_curves(scored).axes[1].lines
    assert (list(line.get_xdata()), list(line.get_ydata())) == ([2], [17.5])


def test_without_a_dev_set_there_is_one_line():
    history = [
        {key: value for key, value in epoch.items() if "val_" not in key}
        for epoch in HISTORY
    ]
    axes = plot_training_curves(history, language="zh").axes
    assert [len(a.lines) for a in axes] == [1] * 4
    assert axes[0].get_ylabel() == "交叉熵（奈特/词元）"
    with pytest.raises(InputError, match="no epoch was finished"):
        plot_training_curves([])
