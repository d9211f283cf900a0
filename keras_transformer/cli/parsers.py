"""Parsers that answer bad usage in one line."""

import argparse
import difflib
import re
import sys


class Parser(argparse.ArgumentParser):
    """A parser that names what is wrong, and what was perhaps meant.

    argparse prints the whole usage, and of a misspelled option says only that
    the right one is missing.
    """

    _has_commands = False

    def add_subparsers(self, **options):
        self._has_commands = True
        return super().add_subparsers(**options)

    def parse_known_args(self, args=None, namespace=None):
        # Behind a command its own options stand.
        if not self._has_commands:
            self._check_options(sys.argv[1:] if args is None else args)
        return super().parse_known_args(args, namespace)

    def error(self, message):
        self.exit(2, f"{self.prog}: error: {message}. See {self.prog} --help\n")

    def _check_options(self, words):
        known = re.findall(r"--[\w-]+", self.format_help())
        for word in words:
            name = word.partition("=")[0]
            if name == "--":
                return
            # argparse takes the beginning of a name, too.
            if name.startswith("--") and not any(
                option.startswith(name) for option in known
            ):
                close = difflib.get_close_matches(name, known, n=1)
                hint = f" (did you mean {close[0]}?)" if close else ""
                self.error(f"unknown option {name}{hint}")
