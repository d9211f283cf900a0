"""Writes figures to files: SVG whose text stays text, or PNG.

The same figure gives the same bytes. An SVG's text is drawn with the viewer's
fonts; a PNG needs installed fonts that have its characters.
"""

import os
import pathlib
import warnings

from matplotlib.figure import Figure

from keras_transformer.errors import InputError
from keras_transformer.plots.style import style
from keras_transformer.system.files import replacing

FORMATS = ("svg", "png")
_DPI = 150  # of a PNG
# Pixels of a PNG: Matplotlib's limit for a side, and a total that takes 800 MB.
_MOST_ON_A_SIDE, _MOST_PIXELS = 2**16 - 1, 2e8
# Without the date and Matplotlib's version, bytes depend only on the figure.
_METADATA = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "png": {"Software": None},
}


def check_format(path: str | os.PathLike) -> str:
    """The format of a file, by its name.

    Raises:
        InputError: the name ends in none of `FORMATS`.
    """
    ending = pathlib.Path(path).suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise InputError(
            f"{path}: a picture's name must end in .svg or .png. "
            f"Received: {(ending and '.' + ending) or 'no ending'}"
        )
    return ending


def save_figure(figure: Figure, path: str | os.PathLike) -> None:
    """Writes a figure, replacing an existing file.

    Matplotlib warns if a PNG has characters that no installed font has.

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
        if kind == "svg":
            # The viewer's fonts draw it.
            warnings.filterwarnings("ignore", "Glyph .* missing from font")
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
