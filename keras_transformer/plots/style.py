"""Style of all pictures: fonts, lines, colours, sizes, words.

Line styles and markers differ as much as colours do, and colours differ in
brightness, so that a picture is read in grey and by the colour-blind.
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


# Okabe and Ito's colours for all readers, from dark to light.
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
    """The fonts that text is drawn with, each for what those before lack."""
    installed = set(fontManager.get_font_names())
    chinese = [name for name in _CHINESE_FONTS if name in installed]
    return ["DejaVu Sans", *chinese[:1]]


def style() -> contextlib.AbstractContextManager[None]:
    """A context in which Matplotlib draws as this package does.

    Whatever the reader's matplotlibrc says is left outside.
    """
    return matplotlib.style.context(
        [
            "default",
            {
                # A generic name at the end, for the reader of an SVG who
                # has neither font.
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
    """Makes a plot function draw in `style`, whatever the caller's is."""

    @functools.wraps(plot)
    def drawn(*args, **kwargs):
        with style():
            return plot(*args, **kwargs)

    return drawn


def drawable(text: str) -> str:
    """A name or token as a picture can have it.

    Control characters, surrogates (bytes of a name that aren't UTF-8) and code
    points that are no character become escapes such as `\\x1b`: Matplotlib
    doesn't draw them, or writes an SVG that no program reads.
    """
    return "".join(
        character.encode("unicode_escape").decode()
        if unicodedata.category(character) in ("Cc", "Cs", "Cn")
        else character
        for character in text
    )


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches, laid out so that its labels fit."""
    return Figure(figsize=(width, height), layout="constrained")


def line(number: int, points: int | None = None) -> dict:
    """Matplotlib's options for the line of that number, from 0.

    Args:
        number: any; they repeat after some.
        points: how many points it has; with many, a few are marked.
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
    """Tokens as the ticks of a heat map.

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
        # Single characters, as of Chinese, are read upright.
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
