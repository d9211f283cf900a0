"""Draws a picture of a model, a run, a sentence or a corpus.

As SVG, whose text the reader's own fonts draw, or as PNG. Needs Matplotlib:
pip install '.[plots]' in the project's folder.
"""

import importlib.util
import warnings

from keras_transformer.cli.console import load_tensorflow, say
from keras_transformer.cli.evaluate import add_weights_option
from keras_transformer.cli.picture_kinds import KINDS, check_options
from keras_transformer.errors import InputError

EXAMPLE = """example:
  keras-transformer plot training-curves --run runs/en-zh --out curves.svg
  keras-transformer plot attention-cross --run runs/en-zh \\
      --text "Where is the station?" --layer 2 --out attention.png
"""


def add_arguments(parser):
    parser.add_argument(
        "kind",
        metavar="KIND",
        choices=list(KINDS),
        help="of picture, one of those below",
    )
    parser.add_argument(
        "--run",
        nargs="+",
        metavar="FOLDER",
        help="a run's folder; several for runs-compared and learning-rates",
    )
    parser.add_argument("--data", metavar="FOLDER", help="what `prepare` made")
    parser.add_argument("--text", help="a sentence to translate")
    parser.add_argument(
        "--translation", help="to look at, in place of the run's own"
    )
    parser.add_argument(
        "--layer",
        type=int,
        nargs="+",
        metavar="N",
        help="of attention, from 1 (default: all)",
    )
    add_weights_option(parser)
    parser.add_argument(
        "--beam-size", type=int, metavar="K", help="1 is greedy"
    )
    parser.add_argument(
        "--language",
        choices=("en", "zh"),
        default="en",
        help="of the labels (default: en)",
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="ends in .svg or .png (default: KIND.svg here)",
    )
    kinds = [f"{name:<17}  {kind.summary}" for name, kind in KINDS.items()]
    parser.add_argument_group("kinds of pictures", "\n".join(kinds))


def run(arguments):
    check_options(arguments)
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError(
            "plot needs Matplotlib, which isn't installed. Accepted: "
            "pip install '.[plots]' in the project's folder"
        )
    load_tensorflow()
    from keras_transformer.plots.saving import (
        MissingCharacters,
        check_format,
        save_figure,
    )

    path = arguments.out or f"{arguments.kind}.svg"
    check_format(path)
    figure = KINDS[arguments.kind].draw(arguments)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MissingCharacters)
        save_figure(figure, path)
    for warning in caught:
        say(f"warning: {warning.message}")
    print(path)
