"""Templates: files whose fields are filled in, and whose parts may be left out.

`{{ name }}` is a field. A field that is alone on its line may have several
lines, which are indented as it is, or none. `{{ if name }}`, or `{{ if not
name }}`, and `{{ end }}` on lines of their own enclose a part that stays where
the value is true, or isn't; parts may be nested. The marks are those of Helm,
which people who read such files know.
"""

import pathlib
import re
import textwrap

_FOLDER = pathlib.Path(__file__).parent / "templates"
_FIELD = re.compile(r"\{\{ (\w+) \}\}")
_ONLY_FIELD = re.compile(r"(\s*)\{\{ (\w+) \}\}")
_PART = re.compile(r"\s*\{\{ (?:if (not )?(\w+)|end) \}\}")


def template(name: str) -> str:
    """The content of a template before anything is filled in.

    Args:
        name: such as "batching.config".
    """
    return (_FOLDER / name).read_text(encoding="utf-8")


def fill(name: str, values: dict) -> str:
    """The content of a template with its fields filled in.

    What is filled in isn't looked at again, so that no value can be a mark.

    Args:
        name: of the template.
        values: by the names of fields and parts; others are ignored.

    Raises:
        KeyError: the template has a name that isn't among the values.
    """
    lines, shown = [], [True]
    for line in template(name).splitlines():
        part = _PART.fullmatch(line)
        if part is None:
            if all(shown):
                lines += _filled(line, values)
        elif part[2]:
            shown.append(bool(values[part[2]]) is not bool(part[1]))
        else:
            shown.pop()
    return "".join(f"{line}\n" for line in lines)


def _filled(line, values):
    """The lines that a line of a template becomes."""
    if field := _ONLY_FIELD.fullmatch(line):
        indent, name = field.groups()
        return textwrap.indent(str(values[name]), indent).splitlines()
    return [_FIELD.sub(lambda match: str(values[match[1]]), line)]
