"""Directives that print options from the code: `config` and `command`.

`config SECTION` is a table of a section of the configuration, from the
dataclass and the comments in it; `command NAME` is what `--help` says.
"""

import dataclasses
import inspect
import re

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from keras_transformer.cli.main import build_parser
from keras_transformer.config import Config


def comments(section) -> dict[str, str]:
    """The comment of each field: above it, or at the end of its line."""
    found, above = {}, []
    for line in inspect.getsource(section).splitlines():
        if match := re.match(r"    # (.+)", line):
            above.append(match[1])
        elif match := re.match(r"    (\w+): [^#]+(?:# (.+))?", line):
            found[match[1]] = match[2] or " ".join(above)
            above = []
        else:
            above = []
    return found


class ConfigTable(SphinxDirective):
    """The fields of a section: key, type, default, meaning."""

    required_arguments = 1

    def run(self):
        name = self.arguments[0]
        section = type(getattr(Config(), name))
        said = comments(section)
        rows = [
            [f"{name}.{field.name}", _type(field), repr(field.default)]
            + [said.get(field.name, "")]
            for field in dataclasses.fields(section)
        ]
        return [_table(rows)]


def _type(field):
    return getattr(field.type, "__name__", str(field.type))


def _table(rows):
    table = nodes.table(classes=["options"])
    group = nodes.tgroup(cols=4)
    group += [nodes.colspec(colwidth=width) for width in (30, 15, 15, 40)]
    body = nodes.tbody()
    for row in rows:
        line = nodes.row()
        for i, text in enumerate(row):
            node = nodes.literal if i < 3 and text else nodes.inline
            paragraph = nodes.paragraph("", "", node(text, text))
            line += nodes.entry("", paragraph)
        body += line
    group += body
    table += group
    return table


class CommandHelp(SphinxDirective):
    """What a subcommand answers to `--help`."""

    required_arguments = 1

    def run(self):
        parser = build_parser()._subparsers._group_actions[0].choices
        text = parser[self.arguments[0]].format_help()
        block = nodes.literal_block(text, text)
        block["language"] = "text"
        return [block]


def setup(app):
    app.add_directive("config", ConfigTable)
    app.add_directive("command", CommandHelp)
    return {"parallel_read_safe": True}
