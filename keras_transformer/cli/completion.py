"""Prints what has a shell complete this command line.

Commands, options, their values, presets, files and folders: what Tab gives
after the first letters, in bash and in zsh.

example:
  source <(keras-transformer completion bash)
  keras-transformer completion bash \\
      > ~/.local/share/bash-completion/completions/keras-transformer
  source <(keras-transformer completion zsh)  # after compinit
  keras-transformer completion zsh > "${fpath[1]}/_keras-transformer"
"""

import argparse

from keras_transformer.cli.main import build_parser
from keras_transformer.compat import arguments_of
from keras_transformer.config.presets import AUTO, PRESETS

SHELLS = ("bash", "zsh")
_BY_EVAL = "$zsh_eval_context[-1] == eval"
_BY_EVAL_OR_SOURCE = "$zsh_eval_context[-1] == (eval|file)"
_FOLDERS = ("BASE", "FOLDER", "RUN")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help="bash or zsh")


def run(arguments: argparse.Namespace) -> None:
    # For this command alone.
    import shtab

    parser = build_parser()
    for argument in _all_arguments(parser):
        metavar = str(argument.metavar)
        if metavar in _FOLDERS:
            argument.complete = shtab.DIRECTORY
        elif "FILE" in metavar:
            argument.complete = shtab.FILE
        elif argument.dest == "preset":
            argument.choices = (AUTO, *PRESETS)
    script = shtab.complete(parser, arguments.shell)
    # Of zsh's `eval` alone it knows that it isn't in a file of `fpath`.
    print(script.replace(_BY_EVAL, _BY_EVAL_OR_SOURCE))


def _all_arguments(parser):
    """Yields the arguments of a parser and, in their place, of commands."""
    for argument in arguments_of(parser):
        if isinstance(argument.choices, dict):
            for command in argument.choices.values():
                yield from _all_arguments(command)
        else:
            yield argument
