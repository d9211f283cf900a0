"""Directives that print options from the code.

`config SECTION` is a table of a section of the configuration, from the
dataclass and the comments in it; `preset NAME` is what a preset changes;
`command NAME` is what `--help` says.
"""

import argparse
import dataclasses
import inspect
import re
import typing

import yaml
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from keras_transformer.cli.main import build_parser
from keras_transformer.config import Config
from keras_transformer.config.presets import PRESETS
from keras_transformer.config.validation import field_types


def comments(section) -> dict[str, str]:
    """What the code says of each field, at its line's end or above it.

    A comment above stands for all fields up to the next comment.
    """
    found, above, new = {}, [], True
    for line in inspect.getsource(section).splitlines():
        if match := re.match(r"    # (.+)", line):
            above = [match[1]] if new else [*above, match[1]]
            new = False
        elif match := re.match(r"    (\w+): [^#]+(?:# (.+))?", line):
            found[match[1]] = match[2] or " ".join(above)
            above, new = ([] if match[2] else above), True
    return found


class ConfigTable(SphinxDirective):
    """The fields of a section: key, type, default, meaning."""

    required_arguments = 1

    def run(self):
        name = self.arguments[0]
        section = type(getattr(Config(), name))
        said, types = comments(section), field_types(section)
        rows = [
            [
                f"{name}.{field.name}",
                _type(types[field.name]),
                repr(field.default),
            ]
            + [said.get(field.name, "")]
            for field in dataclasses.fields(section)
        ]
        return [_table(["key", "type", "default", "meaning"], rows)]


def _type(kind):
    """A type as the reference prints it, such as `int | None`."""
    words = [t for t in typing.get_args(kind) if t is not type(None)]
    if len(words) < len(typing.get_args(kind)):
        return f"{words[0].__name__} | None"
    return kind.__name__ if kind in (bool, float, int, str) else str(kind)


def _table(heads, rows):
    group = nodes.tgroup(cols=4)
    group += [nodes.colspec(colwidth=width) for width in (30, 15, 15, 40)]
    group += nodes.thead("", _row(heads, nodes.inline))
    group += nodes.tbody("", *[_row(row, nodes.literal) for row in rows])
    return nodes.table("", group, classes=["options"])


def _row(texts, node):
    """A row whose last cell is prose, and the others are made of `node`."""
    kinds = [node, node, node, nodes.inline]
    cells = [
        nodes.paragraph("", "", kind(text, text))
        for kind, text in zip(kinds, texts, strict=True)
    ]
    return nodes.row("", *[nodes.entry("", cell) for cell in cells])


class PresetValues(SphinxDirective):
    """What a preset changes, as a YAML file has it."""

    required_arguments = 1

    def run(self):
        values = PRESETS[self.arguments[0]]
        return [_block(yaml.safe_dump(values, sort_keys=False), "yaml")]


class CommandHelp(SphinxDirective):
    """What a subcommand and each of its actions answer to `--help`.

    Its content is a line for those who read the page's file, as on GitHub.
    """

    required_arguments = 1
    has_content = True

    def run(self):
        parser = _actions(build_parser())[self.arguments[0]]
        parsers = [parser, *_actions(parser).values()]
        return [_block(one.format_help(), "text") for one in parsers]


def _actions(parser):
    """The parsers of a command's own actions, by name: `versions publish`."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return action.choices
    return {}


def _block(text, language):
    return nodes.literal_block(text, text, language=language)


def setup(app):
    app.add_directive("config", ConfigTable)
    app.add_directive("preset", PresetValues)
    app.add_directive("command", CommandHelp)
    return {"parallel_read_safe": True}
