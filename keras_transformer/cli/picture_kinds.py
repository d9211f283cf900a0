"""The kinds of pictures, and the options that each has."""

import dataclasses
from collections.abc import Callable

from keras_transformer.cli import pictures
from keras_transformer.errors import InputError


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of picture.

    Attributes:
        summary: what it shows.
        draw: from parsed arguments to a figure.
        needs: options that it can't do without.
        takes: further options that it uses.
        together: options of which none goes without the others.
        many_runs: whether `--run` may name several.
    """

    summary: str
    draw: Callable
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    together: tuple[str, ...] = ()
    many_runs: bool = False


_SENTENCE = ("run", "text")
_LOOK = ("weights", "translation", "layer", "beam_size")
KINDS = {
    "positions-heatmap": Kind(
        "position encoding as a heat map",
        pictures.positions("plot_positions_heatmap"),
        takes=("run", "weights"),
    ),
    "positions-curves": Kind(
        "some dimensions of it as curves",
        pictures.positions("plot_positions_curves"),
        takes=("run", "weights"),
    ),
    "masks": Kind(
        "padding and causal masks of a pair",
        pictures.masks,
        takes=("run", "text", "weights", "translation", "beam_size"),
        together=("run", "text"),
    ),
    "smoothing-table": Kind(
        "a label-smoothed target", pictures.smoothing_table, takes=("run",)
    ),
    "learning-rates": Kind(
        "warm-up and decay",
        pictures.learning_rates,
        takes=("run",),
        many_runs=True,
    ),
    "training-curves": Kind(
        "loss, BLEU, rate and speed by epoch",
        pictures.training_curves,
        ("run",),
    ),
    "attention-encoder": Kind(
        "what source tokens attend to",
        pictures.attention("encoder"),
        _SENTENCE,
        _LOOK,
    ),
    "attention-decoder": Kind(
        "what target tokens attend to",
        pictures.attention("decoder"),
        _SENTENCE,
        _LOOK,
    ),
    "attention-cross": Kind(
        "what target tokens read of the source",
        pictures.attention("cross"),
        _SENTENCE,
        _LOOK,
    ),
    "lengths": Kind(
        "sentence lengths of a corpus", pictures.lengths, ("data",)
    ),
    "padding-share": Kind(
        "padding, by way of batching", pictures.padding_share, ("data",)
    ),
    "beam-tree": Kind(
        "what a beam search looked at",
        pictures.beam_tree,
        _SENTENCE,
        ("weights", "beam_size"),
    ),
    "runs-compared": Kind(
        "quality and speed of runs",
        pictures.runs_compared,
        ("run",),
        many_runs=True,
    ),
}
_OPTIONS = (
    "run",
    "data",
    "text",
    "translation",
    "weights",
    "beam_size",
    "layer",
)


def check_options(arguments):
    """Refuses options that a kind doesn't have, and asks for those it needs.

    Raises:
        InputError: which, and what is accepted.
    """
    name = arguments.kind
    kind = KINDS[name]
    _require(arguments, name, kind.needs)
    if any(getattr(arguments, option) for option in kind.together):
        _require(arguments, name, kind.together)
    accepted = (*kind.needs, *kind.takes)
    for option in _OPTIONS:
        if getattr(arguments, option) is not None and option not in accepted:
            names = ", ".join(_flag(o) for o in accepted)
            raise InputError(
                f"{_flag(option)} doesn't go with {name}. Accepted: "
                f"{names}, --language, --out"
            )
    if not kind.many_runs and len(arguments.run or ()) > 1:
        raise InputError(
            f"{name} is of 1 run. Received: {' '.join(arguments.run)}"
        )


def _require(arguments, name, needs):
    missing = [o for o in needs if getattr(arguments, o) is None]
    if missing:
        wanted = " and ".join(_flag(option) for option in needs)
        raise InputError(
            f"{name} needs {wanted}. Missing: "
            f"{' '.join(_flag(option) for option in missing)}"
        )


def _flag(option):
    return f"--{option.replace('_', '-')}"
