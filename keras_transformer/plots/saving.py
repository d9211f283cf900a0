"""Figures to files: SVG whose text stays text, or PNG.

The same figure gives the same bytes. The reader's own fonts draw an SVG's
text; a PNG needs fonts here that have its characters.
"""

import functools
import os
import pathlib
import warnings

from matplotlib import font_manager
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.text import Text

from keras_transformer.errors import InputError
from keras_transformer.plots.style import style
from keras_transformer.system.files import replacing

FORMATS = ("svg", "png")
_DPI = 150  # of a PNG
# Of a PNG: what Matplotlib draws on a side, and what takes 800 MB.
_MOST_ON_A_SIDE, _MOST_PIXELS = 2**16 - 1, 2e8
# Neither the day nor Matplotlib's version belongs to what is drawn.
_METADATA = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "png": {"Software": None},
}


class MissingCharacters(UserWarning):
    """No font here has a character of a picture."""


def check_format(path: str | os.PathLike) -> str:
    """The format that a file's name asks for.

    Raises:
        InputError: it asks for none of `FORMATS`.
    """
    ending = pathlib.Path(path).suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise InputError(
            f"{path}: a picture's name must end in .svg or .png. "
            f"Received: {(ending and '.' + ending) or 'no ending'}"
        )
    return ending


def save_figure(figure: Figure, path: str | os.PathLike) -> None:
    """Writes a figure, replacing what is at the path.

    Warns once with `MissingCharacters` where a PNG has characters that no
    font here has.

    Args:
        figure: Matplotlib `Figure`.
        path: of the file, ending in .svg or .png.

    Raises:
        InputError: the path ends otherwise, or a PNG would be too large.
    """
    kind = check_format(path)
    if kind == "png":
        _check_size(figure, path)
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with style(), warnings.catch_warnings():
        # One warning of ours says it for all characters.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        if kind == "png":
            _warn_of_missing(figure)
        with replacing(path) as temporary:
            figure.savefig(
                temporary,
                format=kind,
                dpi=_DPI,
                metadata=_METADATA[kind],
            )


def _check_size(figure, path):
    width, height = _DPI * figure.get_size_inches()
    if max(width, height) > _MOST_ON_A_SIDE or width * height > _MOST_PIXELS:
        raise InputError(
            f"{path}: too large for a .png, {width:,.0f} x {height:,.0f} "
            "pixels. Accepted: an .svg"
        )


def _warn_of_missing(figure):
    missing = set()
    for text in figure.findobj(Text):
        families = tuple(text.get_fontfamily())
        missing |= set(text.get_text()) - _characters(families) - {"\n"}
    if missing:
        warnings.warn(
            f"no font here has {' '.join(sorted(missing))}: boxes are drawn. "
            "Install one, such as Debian's fonts-noto-cjk for Chinese, or "
            "write an .svg, which the reader's fonts draw",
            MissingCharacters,
            stacklevel=3,
        )


@functools.cache
def _characters(families) -> frozenset:
    """All characters that any of the fonts has."""
    characters: set = set()
    for family in families:
        path = font_manager.findfont(FontProperties(family=[family]))
        characters.update(map(chr, font_manager.get_font(path).get_charmap()))
    return frozenset(characters)
