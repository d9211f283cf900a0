import pytest

from keras_transformer.plots import plot_learning_rates
from keras_transformer.plots.learning_rates import rates_of


def test_rates_are_the_papers_with_the_peak():
    steps, rates = rates_of((512, 4000), 20_000)
    assert steps[0] == 1 and steps[-1] == 20_000
    rate = dict(zip(steps.tolist(), rates.tolist(), strict=True))
    assert rate[1] == pytest.approx(512**-0.5 * 4000**-1.5)
    assert rate[4000] == pytest.approx((512 * 4000) ** -0.5)
    assert rate[4000] == max(rates)
    assert rate[20_000] == pytest.approx((512 * 20_000) ** -0.5)


def test_a_factor_scales_the_curve():
    _, plain = rates_of((64, 10), 30)
    _, scaled = rates_of((64, 10, 3.0), 30)
    assert scaled.tolist() == pytest.approx((3 * plain).tolist())


def test_a_curve_for_each_setting(language):
    figure = plot_learning_rates(
        [(256, 100), (512, 200)], num_steps=50, language=language
    )
    axes = figure.axes[0]
    word = {"en": "warm-up", "zh": "预热"}[language]
    names = [line.get_label() for line in axes.lines]
    assert names == [f"D = 256, {word} 100", f"D = 512, {word} 200"]
    assert all(len(line.get_xdata()) == 50 for line in axes.lines)
    assert (
        axes.get_ylabel() == {"en": "Learning rate", "zh": "学习率"}[language]
    )
