"""Style of all plots: fonts, lines, colours, sizes, labels.

Line styles and markers differ as much as colours do, and colours differ in
brightness, so that plots are readable in grey and for the colour-blind.
"""

import contextlib
import functools
import pathlib
import unicodedata
from collections.abc import Callable, Sequence
from typing import ParamSpec

import matplotlib.style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager

from keras_transformer.errors import InputError
from keras_transformer.system.files import read_yaml

P = ParamSpec("P")


# Okabe and Ito's colours for the colour-blind, from dark to light.
LINES = (
    {"color": "#000000", "linestyle": "-", "marker": "o"},
    {"color": "#0072B2", "linestyle": "--", "marker": "s"},
    {"color": "#D55E00", "linestyle": "-.", "marker": "^"},
    {"color": "#56B4E9", "linestyle": ":", "marker": "D"},
    {"color": "#E69F00", "linestyle": (0, (5, 1, 1, 1, 1, 1)), "marker": "v"},
)
DARK, BLUE, ORANGE, LIGHT = "#222222", "#0072B2", "#D55E00", "#9a9a9a"
HEAT = "viridis"

# Fonts with Chinese characters, the likeliest first.
_CHINESE_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "PingFang SC",
    "Heiti SC",
    "Hiragino Sans GB",
    "Microsoft YaHei",
    "SimHei",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Noto Sans CJK JP",
    "Arial Unicode MS",
)


_CHINESE_LABELS = read_yaml(pathlib.Path(__file__).with_name("labels_zh.yaml"))
LANGUAGES = ("en", "zh")


@functools.cache
def families() -> list[str]:
    """The fonts for text, each for characters that those before it lack."""
    installed = set(fontManager.get_font_names())
    chinese = [name for name in _CHINESE_FONTS if name in installed]
    return ["DejaVu Sans", *chinese[:1]]


def style() -> contextlib.AbstractContextManager[None]:
    """A context manager for this package's Matplotlib style.

    The user's matplotlibrc has no effect in it.
    """
    return matplotlib.style.context(
        [
            "default",
            {
                # The generic name is for viewers of an SVG that have neither
                # font.
                "font.family": [*families(), "sans-serif"],
                "font.sans-serif": ["DejaVu Sans"],
                "font.size": 9,
                "axes.titlesize": 10,
                "axes.spines.top": False,
                "axes.spines.right": False,
                "legend.frameon": False,
                "lines.linewidth": 1.5,
                "lines.markersize": 4,
                # A token may be a dollar sign.
                "text.parse_math": False,
                "svg.fonttype": "none",
                "svg.hashsalt": "keras_transformer",
            },
        ]
    )


def styled(plot: Callable[P, Figure]) -> Callable[P, Figure]:
    """Makes a plot function draw in `style`, not in the caller's style."""

    @functools.wraps(plot)
    def drawn(*args, **kwargs):
        with style():
            return plot(*args, **kwargs)

    return drawn


def drawable(text: str) -> str:
    """Escapes characters of a name or token that can't be drawn.

    Control characters, surrogates (bytes of a name that aren't UTF-8) and
    unassigned code points become escapes such as `\\x1b`: Matplotlib doesn't
    draw them, or writes an SVG that no program reads.
    """
    return "".join(
        character.encode("unicode_escape").decode()
        if unicodedata.category(character) in ("Cc", "Cs", "Cn")
        else character
        for character in text
    )


def new_figure(width: float, height: float) -> Figure:
    """An empty figure of a size in inches; its layout makes labels fit."""
    return Figure(figsize=(width, height), layout="constrained")


def line(number: int, points: int | None = None) -> dict:
    """Matplotlib's options for a line, by its number from 0.

    Args:
        number: any; styles repeat after the last one.
        points: number of points; if there are many, only some are marked.
            None: no markers.
    """
    options = LINES[number % len(LINES)]
    if points is None:
        return {**options, "marker": ""}
    return {**options, "markevery": max(1, points // 10)}


def token_ticks(
    axes: Axes,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
) -> None:
    """Labels the ticks of a heat map with tokens.

    Args:
        axes: Matplotlib `Axes`.
        rows: list of str, from top to bottom; None: no ticks.
        columns: list of str, from left to right; None: no ticks.
    """
    for set_ticks, tokens in (
        (axes.set_yticks, rows or []),
        (axes.set_xticks, columns or []),
    ):
        set_ticks(range(len(tokens)), [drawable(token) for token in tokens])
    for label in axes.get_xticklabels():
        # Single characters, as in Chinese, are readable upright.
        label.set_rotation(90 if len(label.get_text()) > 1 else 0)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def labels(language: str) -> Callable[[str], str]:
    """A function from an English label to that of a language.

    Args:
        language: "en" or "zh".

    Raises:
        InputError: another language.
    """
    if language not in LANGUAGES:
        raise InputError(
            f"language must be one of {', '.join(LANGUAGES)}. "
            f"Received: {language!r}"
        )
    return _CHINESE_LABELS.__getitem__ if language == "zh" else str
