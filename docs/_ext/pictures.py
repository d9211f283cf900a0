"""The directive `picture`: a figure of `keras_transformer.plots` in a page.

    ```{picture} NAME
    :alt: what is to be seen

    Caption.
    ```

The figure is drawn when the site is built, as SVG in `_build/pictures`, once
for both languages.
"""

import os
from pathlib import Path

import pictures_of_runs
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

FOLDER = Path(__file__).resolve().parents[1] / "_build" / "pictures"

_SOURCE = ["<s>", "where", "is", "the", "station", "?", "</s>", "<pad>"]
_TARGET = ["<s>", "车", "站", "在", "哪", "里", "？", "<pad>"]


def _plots():
    from keras_transformer import plots

    return plots


# Every name that a page may use, and what draws it.
PICTURES = {
    "positions_heatmap": lambda: _plots().plot_positions_heatmap(),
    "positions_curves": lambda: _plots().plot_positions_curves(),
    "masks": lambda: _plots().plot_masks(_SOURCE, _TARGET),
    "smoothing_table": lambda: _plots().plot_smoothing_table(),
    "learning_rates": lambda: _plots().plot_learning_rates(),
    **pictures_of_runs.PICTURES,
}


class Picture(SphinxDirective):
    """A figure with its caption, drawn by name."""

    required_arguments = 1
    has_content = True
    option_spec = {"alt": directives.unchanged_required}

    def run(self):
        name = self.arguments[0]
        if name not in PICTURES:
            raise self.error(
                f"no picture {name!r}. Accepted: {', '.join(PICTURES)}"
            )
        path = os.path.relpath(drawn(name), self.env.srcdir)
        caption = " ".join(self.content)
        alt = self.options.get("alt", caption or name)
        figure = nodes.figure("", nodes.image(uri=f"/{path}", alt=alt))
        if caption:
            texts, _ = self.state.inline_text(caption, self.lineno)
            figure += nodes.caption(caption, "", *texts)
        return [figure]


def drawn(name) -> Path:
    """The SVG of that name; draws it unless it is there."""
    path = FOLDER / f"{name}.svg"
    if not path.exists():
        import matplotlib

        matplotlib.use("Agg")
        FOLDER.mkdir(parents=True, exist_ok=True)
        with matplotlib.rc_context({"svg.hashsalt": name}):
            PICTURES[name]().savefig(path, metadata={"Date": None})
    return path


def setup(app):
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True}
