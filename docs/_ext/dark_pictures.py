"""Pictures for dark pages: each SVG gets another one, light on dark.

Greys are exchanged, from black and white to the light ink and the dark paper
of the theme, and so are tints of paper. Real colours stay: they tell lines
and values apart, and a heat map is read by its colour bar. The theme shows one
of the two, whichever fits the page.
"""

import colorsys
import os
import re
from pathlib import Path

from docutils import nodes
from sphinx.transforms import SphinxTransform

# The lightness of the theme's dark background, and of text on it, 0 to 1.
_PAPER, _INK = 0.08, 0.9
# How far red, green and blue of a tint are apart, at most.
_TINT = 0.1
# Neither `url(#add)` nor `href="#add"`, which are names.
_COLOR = re.compile(r'(?<!\()(?<!href=")#([\da-fA-F]{6}|[\da-fA-F]{3})\b')


def dark(svg: str) -> str:
    """An SVG for dark paper, of one for white.

    Args:
        svg: the file's text. Its colours are written as `#rrggbb` or `#rgb`;
            what has none is black, as SVG has it.
    """
    svg = _COLOR.sub(lambda match: _exchanged(match[1]), svg)
    return re.sub(r"<svg\b", f'<svg fill="{_exchanged("000")}"', svg, count=1)


def _exchanged(digits):
    if len(digits) == 3:
        digits = "".join(2 * digit for digit in digits)
    color = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    if max(color) - min(color) > _TINT:
        return f"#{digits}"
    hue, lightness, saturation = colorsys.rgb_to_hls(*color)
    lightness = _INK + lightness * (_PAPER - _INK)
    color = colorsys.hls_to_rgb(hue, lightness, saturation)
    return "#" + "".join(f"{round(255 * part):02x}" for part in color)


class DarkPictures(SphinxTransform):
    """Puts a dark picture beside every SVG of a page."""

    default_priority = 500

    def apply(self, **kwargs):
        for image in list(self.document.findall(nodes.image)):
            if not image["uri"].endswith(".svg"):
                continue
            _, path = self.env.relfn2path(image["uri"], self.env.docname)
            written = Path(self.env.doctreedir, "dark", Path(path).name)
            written.parent.mkdir(parents=True, exist_ok=True)
            svg = Path(path).read_text(encoding="utf-8")
            written.write_text(dark(svg), encoding="utf-8")
            other = image.deepcopy()
            other["uri"] = f"/{os.path.relpath(written, self.env.srcdir)}"
            image["classes"].append("only-light")
            other["classes"].append("only-dark")
            image.parent.insert(image.parent.index(image) + 1, other)


def setup(app):
    app.add_transform(DarkPictures)
    return {"parallel_read_safe": True}
