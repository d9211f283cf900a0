"""The directive `picture`: a figure of `keras_transformer.plots` in a page.

    ```{picture} NAME
    :alt: what is to be seen

    Caption.
    ```

The figure is drawn when the site is built, as SVG in `_build/pictures`, with
the page's language on its axes.
"""

import os
from pathlib import Path

import pictures_of_runs
import tutorial_plots
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

from keras_transformer import plots

FOLDER = Path(__file__).resolve().parents[1] / "_build" / "pictures"

_SOURCE = ["<s>", "where", "is", "the", "station", "?", "</s>", "<pad>"]
_TARGET = ["<s>", "车", "站", "在", "哪", "里", "？", "<pad>"]


# Every name that a page may use, and what draws it: functions of a language.
PICTURES = {
    "positions_heatmap": lambda language: tutorial_plots.plot_positions_heatmap(
        language=language
    ),
    "positions_curves": lambda language: tutorial_plots.plot_positions_curves(
        language=language
    ),
    "masks": lambda language: tutorial_plots.plot_masks(
        _SOURCE, _TARGET, language=language
    ),
    "smoothing_table": lambda language: tutorial_plots.plot_smoothing_table(
        language=language
    ),
    "learning_rates": lambda language: tutorial_plots.plot_learning_rates(
        language=language
    ),
    **pictures_of_runs.PICTURES,
}


# Said below a picture of a model that is not the demo's.
_SMALL = {
    "en": "Drawn from a small model that was trained for seconds and knows "
    "little; with a demo in runs/demo, it is the demo's.",
    "zh": "此图取自一个只训练了几秒、还不懂什么的小模型；如果 runs/demo "
    "中有演示的结果，则取自演示的模型。",
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
        language = self.config.language[:2]
        drawn = picture(name, language)
        path = os.path.relpath(drawn, self.env.srcdir)
        caption = " ".join(self.content)
        alt = self.options.get("alt", caption or name)
        figure = nodes.figure("", nodes.image(uri=f"/{path}", alt=alt))
        if (
            name in pictures_of_runs.OF_A_MODEL
            and not pictures_of_runs.has_demo()
        ):
            caption = f"{caption} {_SMALL[language]}"
        texts, _ = self.state.inline_text(caption, self.lineno)
        figure += nodes.caption(caption, "", *texts)
        return [figure]


def picture(name, language) -> Path:
    """The SVG of that name, with words of "en" or "zh"; drawn once."""
    path = FOLDER / f"{name}-{language}.svg"
    if not path.exists():
        plots.save_figure(PICTURES[name](language), path)
    return path


def setup(app):
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True}
