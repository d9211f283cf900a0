"""Every picture: pure functions that return a Matplotlib `Figure`.

Needs the extra `[plots]`. Nothing here uses pyplot, so that no figure stays
behind and no window opens; `save_figure` writes SVG or PNG. Each function
takes `language`, "en" or "zh", for the words on the axes.
"""

from typing import TYPE_CHECKING

from keras_transformer.lazy import importer

if TYPE_CHECKING:
    # What checkers and editors read in place of the tables below.
    from keras_transformer.plots.attention_maps import (
        plot_attention,
        plot_masks,
    )
    from keras_transformer.plots.beam_tree import plot_beam_tree
    from keras_transformer.plots.lengths import (
        padding_shares,
        plot_lengths,
        plot_padding_share,
    )
    from keras_transformer.plots.positions import (
        plot_positions_curves,
        plot_positions_heatmap,
    )
    from keras_transformer.plots.runs import plot_runs, run_row
    from keras_transformer.plots.saving import (
        MissingCharacters,
        check_format,
        save_figure,
    )
    from keras_transformer.plots.sentence import (
        sentence_attention,
        sentence_beam_tree,
    )
    from keras_transformer.plots.smoothing import plot_smoothing_table
    from keras_transformer.plots.training_curves import (
        plot_learning_rates,
        plot_training_curves,
    )

_PUBLIC = {
    "MissingCharacters": "saving",
    "check_format": "saving",
    "plot_attention": "attention_maps",
    "plot_beam_tree": "beam_tree",
    "plot_learning_rates": "training_curves",
    "plot_lengths": "lengths",
    "plot_masks": "attention_maps",
    "plot_padding_share": "lengths",
    "padding_shares": "lengths",
    "plot_positions_curves": "positions",
    "plot_positions_heatmap": "positions",
    "plot_runs": "runs",
    "run_row": "runs",
    "save_figure": "saving",
    "sentence_attention": "sentence",
    "sentence_beam_tree": "sentence",
    "plot_smoothing_table": "smoothing",
    "plot_training_curves": "training_curves",
}

__all__ = [
    "MissingCharacters",
    "check_format",
    "padding_shares",
    "plot_attention",
    "plot_beam_tree",
    "plot_learning_rates",
    "plot_lengths",
    "plot_masks",
    "plot_padding_share",
    "plot_positions_curves",
    "plot_positions_heatmap",
    "plot_runs",
    "plot_smoothing_table",
    "plot_training_curves",
    "run_row",
    "save_figure",
    "sentence_attention",
    "sentence_beam_tree",
]


if not TYPE_CHECKING:  # Checkers would believe any name to be there.
    __getattr__ = importer(__name__, _PUBLIC)


def __dir__() -> list[str]:
    return sorted(__all__)
