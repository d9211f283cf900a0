"""Translates lines of text, by a run, an exported SavedModel, or a server.

Reads stdin or a file, writes a line for a line in the same order, and keeps
blank lines. Any number of lines: they are read a window at a time, and more
than a few are translated by a process for each core, or in several requests
at a time.
"""

import contextlib
import itertools
import pathlib
import sys

from keras_transformer.cli import detailed, served, translations
from keras_transformer.cli.console import (
    Progress,
    load_tensorflow,
    read_lines,
    say,
    writing,
)
from keras_transformer.cli.options import (
    add_search_options,
    add_weights_option,
    decoding_config,
    saved_batch_size,
)
from keras_transformer.cli.recipes import BLANK, RunRecipe, SavedModelRecipe
from keras_transformer.cli.speed import (
    add_speed_options,
    check_speed_options,
    choose_workers,
)
from keras_transformer.config import Config
from keras_transformer.errors import InputError
from keras_transformer.files import read_yaml
from keras_transformer.translation.stream import (
    BATCHES_A_WINDOW,
    one_by_one,
    stream_lines,
)

EXAMPLE = """example:
  echo "Good morning." | keras-transformer translate --run runs/en-zh
  keras-transformer translate --saved-model saved_models/en-zh < in.en > out.zh
  keras-transformer translate --server http://127.0.0.1:8501 --model en-zh
"""


def add_arguments(parser):
    model = parser.add_mutually_exclusive_group(required=True)
    model.add_argument("--run", metavar="FOLDER", help="a run's folder")
    model.add_argument(
        "--saved-model",
        metavar="FOLDER",
        help="an export: a version, or the folder of versions (newest)",
    )
    model.add_argument(
        "--server",
        metavar="URL",
        help="of TensorFlow Serving or `serve`: http://HOST:8501 (REST) or "
        "grpc://HOST:8500",
    )
    parser.add_argument("--input", metavar="FILE", help="default: stdin")
    parser.add_argument("--output", metavar="FILE", help="default: stdout")
    add_weights_option(parser)
    translations.add_arguments(parser)
    add_search_options(parser)
    add_speed_options(parser)
    served.add_arguments(parser)


def run(arguments):
    check_speed_options(arguments)
    served.check_options(arguments)
    recipe, batch_size = _recipe(arguments)
    interactive = arguments.input is None and sys.stdin.isatty()
    if interactive:
        say("type a line to be translated; Ctrl-D ends")
    window = 1 if interactive else BATCHES_A_WINDOW * batch_size
    lines = read_lines(arguments.input)
    if arguments.prefix:
        lines = translations.with_prefixes(lines, arguments.prefix)
    # A missing file is told before a long start.
    first = list(itertools.islice(lines, window))
    sentences = sum(1 for line in first if line.strip())
    if arguments.server:
        opened = recipe.opened(interactive)
    else:
        workers = choose_workers(arguments, sentences, batch_size)
        opened = _translating(recipe, workers, arguments.threads)
    # A bar between translations on one terminal would garble both.
    apart = arguments.output is not None or not sys.stdout.isatty()
    with (
        opened as translate_batches,
        Progress("translating", unit="sentences", shown=apart) as progress,
        writing(arguments.output) as out,
    ):
        results = stream_lines(
            itertools.chain(first, lines),
            translate_batches,
            batch_size,
            window,
            blank=detailed.BLANK if translations.wanted(arguments) else BLANK,
            progress=progress.advance,
        )
        for number, result in enumerate(results, 1):
            out.write(format_result(result, arguments, number))
            if interactive:
                out.flush()
            if result.truncated:
                name = arguments.input or "stdin"
                say(
                    f"warning: {name}, line {number}: more tokens than the "
                    "model has positions; the rest is left out"
                )


def format_result(result, arguments, number: int) -> str:
    """A line's result as it is written, with its end.

    Args:
        result: a `Translation`, or a `Detailed` where more is wanted.
        arguments: parsed.
        number: of the line, from 1.
    """
    if translations.wanted(arguments):
        return translations.format_result(result, arguments, number)
    end = f"\t{result.score:.4f}\n" if arguments.scores else "\n"
    return result.text + end


@contextlib.contextmanager
def _translating(recipe, workers, threads):
    """What translates batches: this process, or others until the end."""
    if workers == 1:
        from keras_transformer.translation.workers import set_threads

        load_tensorflow()
        set_threads(threads)
        translate = recipe()
        yield one_by_one(translate)
        seconds = getattr(translate, "compile_seconds", 0.0)
    else:
        from keras_transformer.translation.workers import Workers

        with Workers(recipe, workers, threads, load_tensorflow) as pool:
            yield pool.translate_batches
            seconds = pool.compile_seconds
    if seconds:
        say(f"compiling took {seconds:.1f} s, all processes together")


def _recipe(arguments):
    """What translates, as something to send to workers, and batch size."""
    if arguments.server:
        return served.recipe(arguments)
    if arguments.saved_model:
        return _saved_model_recipe(arguments)
    folder = pathlib.Path(arguments.run)
    path = folder / "config.yaml"
    # Without loading the run, for which TensorFlow would be needed. Its
    # loader tells what is wrong with a folder that isn't one.
    config = read_yaml(path) if path.is_file() else {}
    config = Config().updated(config, str(path))
    decoding = decoding_config(config, arguments)
    if translations.wanted(arguments):
        recipe = translations.run_recipe(arguments, decoding)
        return recipe, decoding.batch_size
    weights = arguments.weights or "best"
    recipe = RunRecipe(arguments.run, weights, decoding, arguments.jit)
    return recipe, decoding.batch_size


def _saved_model_recipe(arguments):
    if (
        arguments.length_penalty is not None
        or arguments.beam_size not in (None, 1)
        or arguments.decoding
    ):
        raise InputError(
            "an export's search was fixed when it was made. Accepted with "
            "--saved-model: --beam-size 1 (its greedy signature), or none of "
            "--beam-size, --length-penalty and --decoding"
        )
    if arguments.weights:
        raise InputError("--weights goes with --run: an export has one set")
    if arguments.jit == "on":
        raise InputError(
            "--jit on goes with --run: an export's graph isn't one for XLA. "
            "Accepted with --saved-model: off, auto"
        )
    batch_size = saved_batch_size(arguments)
    if translations.wanted(arguments):
        return translations.saved_recipe(arguments), batch_size
    signature = "greedy" if arguments.beam_size == 1 else "serving_default"
    return SavedModelRecipe(arguments.saved_model, signature), batch_size
