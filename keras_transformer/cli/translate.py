"""Translates lines of text, from a run or from an exported SavedModel.

Reads stdin or a file, writes a line for a line in the same order, and keeps
blank lines. Any number of lines: they are read a window at a time.
"""

import contextlib
import sys

from keras_transformer.cli.console import Progress, load_tensorflow, say
from keras_transformer.cli.evaluate import (
    add_search_options,
    add_weights_option,
    decoding_config,
)
from keras_transformer.errors import InputError

EXAMPLE = """example:
  echo "Good morning." | keras-transformer translate --run runs/en-zh
  keras-transformer translate --saved-model saved_models/en-zh < in.en > out.zh
"""


def add_arguments(parser):
    model = parser.add_mutually_exclusive_group(required=True)
    model.add_argument("--run", metavar="FOLDER", help="a run's folder")
    model.add_argument(
        "--saved-model",
        metavar="FOLDER",
        help="an export: a version, or the folder of versions (newest)",
    )
    parser.add_argument("--input", metavar="FILE", help="default: stdin")
    parser.add_argument("--output", metavar="FILE", help="default: stdout")
    add_weights_option(parser)
    parser.add_argument(
        "--scores",
        action="store_true",
        help="a column more: log-probability, length-normalised",
    )
    add_search_options(parser)


def run(arguments):
    interactive = arguments.input is None and sys.stdin.isatty()
    if interactive:
        say("type a line to be translated; Ctrl-D ends")
    lines = _lines(arguments.input)
    first = next(lines, None)  # a missing file is told before a long start
    load_tensorflow()
    from keras_transformer.decoding.stream import translate_lines

    translate, batch_size = _translator(arguments)
    if first is None:
        lines = iter(())
    else:
        lines = _chain(first, lines)
    # A bar between translations on one terminal would garble both.
    apart = arguments.output is not None or not sys.stdout.isatty()
    with (
        Progress("translating", shown=apart) as progress,
        _output(arguments.output) as out,
    ):
        for translation, score in translate_lines(
            lines,
            translate,
            batch_size,
            window=1 if interactive else None,
            blank=("", 0.0),
            progress=progress.advance,
        ):
            end = f"\t{score:.4f}\n" if arguments.scores else "\n"
            out.write(translation + end)
            if interactive:
                out.flush()


def _chain(first, rest):
    yield first
    yield from rest


def _translator(arguments):
    """A function from lines to (translation, score) pairs, and batch size."""
    if arguments.saved_model:
        return _from_saved_model(arguments)
    import tensorflow as tf

    from keras_transformer.evaluation.report import run_translator
    from keras_transformer.training.run import Run

    the_run = Run.load(arguments.run)
    decoding = decoding_config(the_run.config, arguments)
    model = the_run.load_model(arguments.weights or "best")
    graph = run_translator(the_run, model, decoding).translate

    def translate(lines):
        encoded = [line.encode("utf-8") for line in lines]
        outputs = graph(tf.constant(encoded, tf.string))
        texts = [t.decode("utf-8") for t in outputs["translation"].numpy()]
        return list(zip(texts, outputs["score"].numpy(), strict=True))

    return translate, decoding.batch_size


def _from_saved_model(arguments):
    from keras_transformer.export.loaded import SavedTranslator

    if arguments.length_penalty is not None or arguments.beam_size not in (
        None,
        1,
    ):
        raise InputError(
            "an export's search was fixed when it was made. Accepted with "
            "--saved-model: --beam-size 1 (its greedy signature), or neither "
            "--beam-size nor --length-penalty"
        )
    if arguments.weights:
        raise InputError("--weights goes with --run: an export has one set")
    signature = "greedy" if arguments.beam_size == 1 else "serving_default"
    translator = SavedTranslator(arguments.saved_model, signature)

    def translate(lines):
        return list(zip(*translator.translate(lines), strict=True))

    batch_size = arguments.batch_size
    if batch_size is None:
        batch_size = 64
    elif batch_size < 1:
        raise InputError(
            f"--batch-size must be 1 or more. Received: {batch_size}"
        )
    return translate, batch_size


def _lines(path):
    """Lines of a file or of stdin, decoded strictly, errors by line."""
    name = path or "stdin"
    source = (
        open(path, "rb") if path else contextlib.nullcontext(sys.stdin.buffer)
    )
    with source as file:
        for number, line in enumerate(file, 1):
            try:
                yield line.decode("utf-8")
            except UnicodeDecodeError:
                raise InputError(
                    f"{name}, line {number}: not UTF-8. Accepted: UTF-8 text"
                ) from None


@contextlib.contextmanager
def _output(path):
    """Where translations go; a file appears when it is complete."""
    if path is None:
        sys.stdout.reconfigure(encoding="utf-8")
        yield sys.stdout
        return
    from keras_transformer.files import replacing

    with replacing(path) as temporary:
        with open(temporary, "w", encoding="utf-8") as file:
            yield file
