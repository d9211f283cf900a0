import re
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest

from keras_transformer import plots
from keras_transformer.errors import InputError
from keras_transformer.plots import plot_attention, save_figure
from keras_transformer.plots.style import families

# A character that no font has: the last of a private plane.
UNKNOWN = "\U0010fffd"


def chinese_font():
    return len(families()) > 1


def figure(word="早"):
    weights = np.ones((1, 1, 2, 3))
    return plot_attention(weights, ["<s>", word], ["<s>", "good", "</s>"])


def test_svg_keeps_its_text_and_names_no_day(tmp_path):
    path = tmp_path / "masks.svg"
    save_figure(figure(), path)
    text = path.read_text(encoding="utf-8")
    words = {element.text for element in ElementTree.fromstring(text).iter()}
    assert {"good", "早", "Layer 1 · Head 1"} <= words
    assert "<metadata" not in text
    assert "matplotlib.org" not in text
    assert re.search(r"font-family: 'DejaVu Sans'.*sans-serif", text)


def test_the_same_figure_gives_the_same_bytes(tmp_path):
    for ending in ("svg", "png"):
        paths = [tmp_path / f"{n}.{ending}" for n in (1, 2)]
        for path in paths:
            save_figure(figure("a"), path)
        one, other = (path.read_bytes() for path in paths)
        assert one == other


def test_a_png_whose_characters_no_font_has_warns(tmp_path):
    path = tmp_path / "masks.png"
    with pytest.warns(UserWarning, match="missing from font"):
        save_figure(figure(UNKNOWN), path)
    assert path.read_bytes().startswith(b"\x89PNG")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save_figure(figure(UNKNOWN), tmp_path / "masks.svg")


@pytest.mark.skipif(not chinese_font(), reason="no Chinese font is installed")
def test_chinese_is_drawn_where_a_font_has_it(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save_figure(figure("早安"), tmp_path / "masks.png")


@pytest.mark.parametrize("inches", [(500, 1), (90, 100)])
def test_what_is_too_large_is_no_png(tmp_path, inches):
    large = figure()
    large.set_size_inches(*inches)
    with pytest.raises(InputError, match=r"too large .* Accepted: an \.svg"):
        save_figure(large, tmp_path / "new" / "masks.png")
    assert list(tmp_path.iterdir()) == []


# Control characters, a byte that isn't UTF-8, what is no character.
ODD = ["a\x1b[31m", "a\udcffb", "a\x00", "\ufffe", "a\nb", "\ud800"]


@pytest.mark.parametrize("kind", ["svg", "png"])
@pytest.mark.parametrize("name", [*ODD, "$é$"], ids=ascii)
def test_names_and_tokens_of_any_characters(tmp_path, name, kind):
    path = tmp_path / f"picture.{kind}"
    figures = [
        plots.plot_runs([{"name": name, "cross_entropy": 1.0}]),
        plots.plot_attention(np.ones((1, 1, 1, 2)), [name], [name, "b"]),
    ]
    for figure in figures:
        plots.save_figure(figure, path)
        if kind == "svg":
            text = ElementTree.parse(path).getroot().itertext()
            escaped = name
            if not name.startswith("$"):
                escaped = name.encode("unicode_escape").decode()
            assert escaped in [part.strip() for part in text]
