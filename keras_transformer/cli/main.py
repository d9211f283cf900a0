"""The command line: parses, calls, prints.

Results go to stdout, everything else to stderr. Exit status 0, or 2 with
one line for bad usage, bad input or an interruption.
"""

import argparse
import contextlib
import errno
import importlib
import io
import keyword
import os
import signal
import sys
import warnings
from collections.abc import Iterable
from typing import Any, NoReturn

from keras_transformer.cli.console import PROGRAM, say, tell_error
from keras_transformer.errors import InputError
from keras_transformer.version import __version__

COMMANDS = {
    "demo": "the whole path on a built-in corpus, in a few minutes",
    "prepare": "a parallel corpus to ids on disk",
    "import": "a model of OPUS-MT, NLLB, Marian or OpenNMT-tf to a run",
    "train": "prepared data to a trained run",
    "evaluate": "cross-entropy, BLEU and chrF of a run",
    "translate": "lines of text to lines of text",
    "translate-shards": "very many lines, by any number of processes",
    "distill": "a teacher's translations as training data",
    "score": "how probable given translations are",
    "export": "a run to a SavedModel for TensorFlow Serving",
    "versions": "publish, label, roll back and prune exported versions",
    "serve": "exported models over REST and gRPC",
    "plot": "pictures of a model, a run, a sentence or a corpus",
    "info": "what a folder of data, a run, an export or its versions hold",
}


_LONGEST_ERROR = 1000  # characters of an error, which quotes wrong arguments


class Parser(argparse.ArgumentParser):
    """A parser that reports bad usage in one line, without the usage text."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.register("type", None, _some_text)

    def add_subparsers(self, **options: Any) -> "argparse._SubParsersAction":
        commands = super().add_subparsers(**options)
        commands.type = str  # For all words, which the command's parser checks.
        return commands

    def parse_known_args(
        self, args: Iterable[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:  # The outer parser would refer to another help page.
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown

    def error(self, message: str) -> NoReturn:
        if len(message) > _LONGEST_ERROR:
            message = f"{message[:_LONGEST_ERROR]}..."
        self.exit(2, f"{self.prog}: error: {message}. See {self.prog} --help\n")


def _some_text(text):
    """Refuses an empty argument, such as an unset variable of the shell."""
    if text == "":
        raise argparse.ArgumentTypeError("must not be empty")
    return text


def build_parser() -> argparse.ArgumentParser:
    """The parser with all subcommands."""
    parser = Parser(
        prog=PROGRAM,
        description="Parallel text in, a translation model for TensorFlow "
        "Serving out.",
    )
    parser.add_argument(
        "--version", action="version", version=f"{PROGRAM} {__version__}"
    )
    subparsers = parser.add_subparsers(
        dest="command", required=True, metavar="COMMAND"
    )
    for name, summary in COMMANDS.items():
        module = _module(name)
        # Under `python -OO` there are no docstrings.
        text = module.__doc__ or ""
        description, mark, example = text.partition("\nexample:\n")
        subparser = subparsers.add_parser(
            name,
            help=summary,
            description=description,
            epilog=mark.lstrip() + example,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(subparser)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Runs one command.

    Args:
        argv: the arguments without the program's name; `sys.argv`'s if
            omitted.

    Returns:
        the exit status.
    """
    arguments = build_parser().parse_args(argv)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("always", module=r"keras_transformer\.")
            warnings.showwarning = _show_warning
            _module(arguments.command).run(arguments)
        sys.stdout.flush()
    except InputError as error:
        return _fail(str(error))
    except KeyboardInterrupt as error:
        return _fail(str(error) or "interrupted; nothing is half-written")
    except BrokenPipeError:
        # The reader of the output is gone, so there is nothing to report.
        _drop_output(sys.stdout)
        return 0
    except OSError as error:
        _drop_output(sys.stdout)
        where = f"{error.filename}: " if error.filename else ""
        if error.errno == errno.EBADF and not where:
            where = "stdin or stdout is closed: "
        return _fail(f"{where}{error.strerror or error}")
    except MemoryError:
        return _fail("out of memory. Try smaller batches")
    except Exception as error:
        if not _is_out_of_resources(error):
            raise
        text = getattr(error, "message", str(error))
        return _fail(f"out of memory or disk: {text.splitlines()[0]}")
    return 0


def console() -> NoReturn:
    """Entry point of the `keras-transformer` command."""
    _open_streams()
    # A terminal of another encoding would end a translation in a traceback.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")
    # Removes temporary files on exit, as after Ctrl-C.
    signal.signal(signal.SIGTERM, _interrupt)
    status = main()
    # Python would exit with another status if it can't flush stderr.
    _drop_output(sys.stderr)
    sys.exit(status)


def _open_streams():
    """Opens those of stdin, stdout and stderr that are closed (`>&-`).

    The next opened file would get their number, and messages of C++ code on
    stderr would be written into it. stdin and stdout are opened in the wrong
    mode, so that using them is an error.
    """
    for number, name, flags, mode in (
        (0, "stdin", os.O_WRONLY, "r"),
        (1, "stdout", os.O_RDONLY, "w"),
        (2, "stderr", os.O_WRONLY, "w"),
    ):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # Takes the lowest number: this one.
            stream = open(number, mode, encoding="utf-8")  # noqa: PTH123
            setattr(sys, name, stream)


def _drop_output(stream):
    """Flushes a stream; if that fails, discards the rest of its output."""
    with contextlib.suppress(OSError, ValueError):
        stream.flush()
        return
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _interrupt(number, frame):
    raise KeyboardInterrupt


def _is_out_of_resources(error) -> bool:
    # JAX has one class for all errors of a running program.
    if type(error).__name__ == "JaxRuntimeError":
        return str(error).startswith("RESOURCE_EXHAUSTED")
    tensorflow = sys.modules.get("tensorflow")
    return tensorflow is not None and isinstance(
        error, tensorflow.errors.ResourceExhaustedError
    )


def _module(command):
    name = command.replace("-", "_")
    # A keyword of Python can't name a module.
    name = f"{name}_" if keyword.iskeyword(name) else name
    return importlib.import_module(f"keras_transformer.cli.{name}")


def _show_warning(message, category, filename, lineno, file=None, line=None):
    say(f"warning: {message}")


def _fail(message) -> int:
    tell_error(message)
    return 2
