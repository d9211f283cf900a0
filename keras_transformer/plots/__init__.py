"""Every picture: pure functions that return a Matplotlib `Figure`.

Needs the extra `[plots]`. Nothing here uses pyplot, so that no figure stays
behind and no window opens; `save_figure` writes SVG or PNG. Each function
takes `language`, "en" or "zh", for the words on the axes.
"""

from keras_transformer.lazy import importer

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

__all__ = list(_PUBLIC)


__getattr__ = importer(__name__, _PUBLIC)


def __dir__():
    return sorted(__all__)
