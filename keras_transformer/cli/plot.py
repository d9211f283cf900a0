"""Draws a picture of a model, a run, a sentence or a corpus.

Writes SVG, whose text is drawn with the viewer's fonts, or PNG. Needs
Matplotlib: pip install '.[plots]' in the project's folder.

example:
  keras-transformer plot training-curves --run runs/en-zh --out curves.svg
  keras-transformer plot attention-cross --run runs/en-zh \\
      --text "Where is the station?" --layer 2 --out attention.png
"""

import argparse
import dataclasses
import importlib.util
from collections.abc import Callable

from keras_transformer import plots
from keras_transformer.cli.console import (
    argument_text,
    load_tensorflow,
    visible,
)
from keras_transformer.cli.options import (
    SEVERAL,
    add_options,
    add_settings,
    add_weights_option,
    decoding_config,
    flag,
    is_given,
    setting_options,
)
from keras_transformer.errors import InputError, not_installed

# Options that only some kinds of pictures take.
_OPTIONS = ("run", "data", "text", "translation", "weights", "set", "layer")


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of picture.

    Attributes:
        summary: of its content.
        draw: function from parsed arguments and the language to a figure.
        needs: required options.
        takes: further options.
        many_runs: whether `--run` may name several.
    """

    summary: str
    draw: Callable
    needs: tuple[str, ...]
    takes: tuple[str, ...] = ()
    many_runs: bool = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kind",
        metavar="KIND",
        choices=list(KINDS),
        help="of picture, one of those below",
    )
    runs = {"--run FOLDER": "a run's folder; several for runs-compared"}
    add_options(parser, runs, **SEVERAL)
    add_options(
        parser,
        {
            "--data FOLDER": "what `prepare` made",
            "--text TEXT": "a sentence to translate",
            "--translation TRANSLATION": "to look at, in place of the "
            "run's own",
            "--out FILE": "ends in .svg or .png (default: KIND.svg here)",
        },
    )
    layers = {"--layer N": "of attention, from 1 (default: all)"}
    add_options(parser, layers, type=int, **SEVERAL)
    add_weights_option(parser)
    add_settings(parser, ("decoding",), ("beam_size",))
    parser.add_argument(
        "--language",
        choices=("en", "zh"),
        default="en",
        help="of the labels (default: en)",
    )
    kinds = [f"{name:<17}  {kind.summary}" for name, kind in KINDS.items()]
    parser.add_argument_group("kinds of pictures", "\n".join(kinds))


def run(arguments: argparse.Namespace) -> None:
    _check_options(arguments)
    for name in ("text", "translation"):
        given = getattr(arguments, name)
        if given is not None:
            setattr(arguments, name, argument_text(given, flag(name)))
    if importlib.util.find_spec("matplotlib") is None:
        raise not_installed("Matplotlib", "plots")
    load_tensorflow()
    path = arguments.out or f"{arguments.kind}.svg"
    plots.check_format(path)
    figure = KINDS[arguments.kind].draw(arguments, arguments.language)
    plots.save_figure(figure, path)
    print(visible(path))


def _check_options(arguments):
    """Requires the options that a kind needs; refuses those it doesn't take.

    Raises:
        InputError: names the options, and those that are accepted.
    """
    name = arguments.kind
    kind = KINDS[name]
    missing = [o for o in kind.needs if getattr(arguments, o) is None]
    if missing:
        raise InputError(
            f"{name} needs {' and '.join(map(flag, kind.needs))}. Missing: "
            f"{' '.join(map(flag, missing))}"
        )
    accepted = (*kind.needs, *kind.takes)
    for option in _OPTIONS:
        if is_given(getattr(arguments, option)) and option not in accepted:
            given = flag(option)
            if option == "set":
                given = setting_options(arguments)
            raise InputError(
                f"{given} doesn't go with {name}. Accepted: "
                f"{', '.join(map(flag, accepted))}, --language, --out"
            )
    if not kind.many_runs and len(arguments.run or ()) > 1:
        raise InputError(
            f"{name} takes a single run. Received: {' '.join(arguments.run)}"
        )


def _draw_training_curves(arguments, language):
    (run,) = _runs(arguments)
    try:
        return plots.plot_training_curves(run.history(), language=language)
    except InputError as error:
        raise InputError(f"{run.folder}: {error}") from None


def _draw_attention(part):
    """A function that draws the "encoder", "decoder" or "cross" part."""

    def draw(arguments, language):
        run, model = _run_and_model(arguments)
        sentence = plots.sentence_attention(
            run,
            model,
            arguments.text,
            arguments.translation,
            decoding_config(run.config, arguments),
        )
        rows, columns = {
            "encoder": (sentence.source_tokens, sentence.source_tokens),
            "decoder": (sentence.input_tokens, sentence.input_tokens),
            "cross": (sentence.output_tokens, sentence.source_tokens),
        }[part]
        written = ": token being written" if part == "cross" else ": token"
        return plots.plot_attention(
            getattr(sentence, part),
            rows,
            columns,
            layers=arguments.layer,
            row_label=f"Query{written}",
            language=language,
        )

    return draw


def _draw_lengths(arguments, language):
    from keras_transformer.data.prepared import PreparedData

    lengths = PreparedData.load(arguments.data).lengths("train")
    return plots.plot_lengths(lengths, language=language)


def _draw_beam_tree(arguments, language):
    run, model = _run_and_model(arguments)
    decoding = decoding_config(run.config, arguments)
    tree = plots.sentence_beam_tree(run, model, arguments.text, decoding)
    return plots.plot_beam_tree(tree, language=language)


def _draw_runs(arguments, language):
    # Named by path if two folders have the same name.
    runs = _runs(arguments)
    names = [run.folder.resolve().name for run in runs]
    alike = len(set(names)) < len(names)
    rows = [
        plots.run_row(run, str(run.folder) if alike else None) for run in runs
    ]
    return plots.plot_runs(rows, language=language)


def _runs(arguments):
    from keras_transformer.training.run import Run

    return [Run.load(folder) for folder in arguments.run]


def _run_and_model(arguments):
    (run,) = _runs(arguments)
    return run, run.load_model(arguments.weights or "best")


_SENTENCE, _LOOK = ("run", "text"), ("weights", "translation", "layer", "set")
KINDS = {
    "training-curves": Kind(
        "loss, BLEU, rate and speed by epoch", _draw_training_curves, ("run",)
    ),
    **{
        f"attention-{part}": Kind(
            summary, _draw_attention(part), _SENTENCE, _LOOK
        )
        for part, summary in {
            "encoder": "what source tokens attend to",
            "decoder": "what target tokens attend to",
            "cross": "what target tokens read of the source",
        }.items()
    },
    "lengths": Kind("sentence lengths of a corpus", _draw_lengths, ("data",)),
    "beam-tree": Kind(
        "what a beam search looked at",
        _draw_beam_tree,
        _SENTENCE,
        ("weights", "set"),
    ),
    "runs-compared": Kind(
        "quality and speed of runs", _draw_runs, ("run",), many_runs=True
    ),
}
