"""A parser of YAML from users and other programs, which may be hostile.

PyYAML raises many kinds of errors: for a date such as 2020-99-99 or a number of
6,000 digits it passes on Python's. Aliases may expand a few lines to a value of
unlimited size.
"""

import re
from typing import Any

import yaml

_MOST_NODES = 100_000  # of a value, with its aliases expanded
# PyYAML's own errors, and others that its constructors raise.
_ERRORS = (
    yaml.YAMLError,
    ValueError,
    ArithmeticError,
    LookupError,
    AttributeError,
    TypeError,
    RecursionError,
)


class NotYaml(ValueError):
    """A text that isn't YAML, or isn't accepted; the message is the reason.

    Attributes:
        line: number of the line, from 1; None: unknown.
    """

    def __init__(self, problem: str, line: int | None = None) -> None:
        super().__init__(problem)
        self.line = line


def load_yaml(text: str | bytes) -> Any:
    """The value of one YAML document.

    Raises:
        NotYaml: it isn't YAML, repeats a key, or its aliases make it huge.
    """
    try:
        loader = _UniqueKeys(text)
        node = loader.get_single_node()
        if node is None:
            return None
        if _size(node, {}) > _MOST_NODES:
            raise NotYaml(
                f"aliases that expand to more than {_MOST_NODES:,} values"
            )
        return loader.construct_document(node)
    except NotYaml:
        raise
    except _ERRORS as error:
        mark = getattr(error, "problem_mark", None)
        problem = "not a YAML file"
        if not isinstance(error, yaml.YAMLError | RecursionError):
            problem = "an invalid date or number"
        raise NotYaml(problem, mark and mark.line + 1) from None


class _UniqueKeys(yaml.SafeLoader):
    """A loader that refuses a repeated key, where PyYAML drops the first."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if key.value in seen:
                problem = f"{key.value[:60]} is given a second time"
                raise NotYaml(problem, key.start_mark.line + 1)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _number(loader, node):
    """An integer as in YAML 1.2: 010 is ten, and 1:30 isn't ninety."""
    text = loader.construct_scalar(node)
    if ":" in text:
        return text
    is_octal = re.fullmatch("[-+]?0[0-7]+", text)
    return int(text) if is_octal else loader.construct_yaml_int(node)


_UniqueKeys.add_constructor("tag:yaml.org,2002:int", _number)


def _size(node, sizes) -> int:
    """The number of nodes of a value, with its aliases expanded.

    Args:
        node: the root of the value.
        sizes: sizes of the nodes counted so far, by their `id`.
    """
    if id(node) not in sizes:
        # Found by an alias to the node within it, which would never end.
        sizes[id(node)] = _MOST_NODES + 1
        children = node.value if isinstance(node.value, list) else []
        total = 1
        for child in children:
            parts = child if isinstance(child, tuple) else (child,)
            total += sum(_size(part, sizes) for part in parts)
        sizes[id(node)] = total
    return sizes[id(node)]
