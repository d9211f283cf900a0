import numpy as np

from keras_transformer.plots import plot_masks
from tests.plots.reading import ticks

SOURCE = ["<s>", "good", "morning", "</s>", "<pad>"]
TARGET = ["<s>", "早", "安", "<pad>"]


def seen(axes):
    return np.array(axes.collections[0].get_array()).astype(int)


def test_masks_of_a_padded_pair():
    encoder, decoder, cross = plot_masks(SOURCE, TARGET).axes
    keys = [1, 1, 1, 1, 0]
    np.testing.assert_array_equal(seen(encoder), [keys] * 5)
    np.testing.assert_array_equal(seen(cross), [keys] * 4)
    np.testing.assert_array_equal(
        seen(decoder), [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 0]]
    )


def test_tokens_stand_on_both_axes_first_query_on_top():
    encoder, decoder, cross = plot_masks(SOURCE, TARGET).axes
    assert ticks(encoder.xaxis) == ticks(encoder.yaxis) == SOURCE
    assert ticks(decoder.xaxis) == ticks(decoder.yaxis) == TARGET
    assert (ticks(cross.yaxis), ticks(cross.xaxis)) == (TARGET, SOURCE)
    assert all(axes.yaxis_inverted() for axes in (encoder, decoder, cross))


def test_only_single_characters_are_upright():
    decoder = plot_masks(SOURCE, TARGET).axes[1]
    turned = [label.get_rotation() for label in decoder.get_xticklabels()]
    assert turned == [90, 0, 0, 90]


def test_titles_and_legend_in_chinese():
    figure = plot_masks(SOURCE, TARGET, language="zh")
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["编码器自注意力", "解码器自注意力", "交叉注意力"]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["可见", "被遮住"]
