"""Public names, which `lazy.public_names` imports on first use."""

from keras_transformer.plots.attention_maps import (
    plot_attention as plot_attention,
)
from keras_transformer.plots.beam_tree import plot_beam_tree as plot_beam_tree
from keras_transformer.plots.lengths import (
    plot_lengths as plot_lengths,
)
from keras_transformer.plots.runs import (
    plot_runs as plot_runs,
    run_row as run_row,
)
from keras_transformer.plots.saving import (
    check_format as check_format,
    save_figure as save_figure,
)
from keras_transformer.plots.sentence import (
    sentence_attention as sentence_attention,
    sentence_beam_tree as sentence_beam_tree,
)
from keras_transformer.plots.training_curves import (
    plot_training_curves as plot_training_curves,
)
