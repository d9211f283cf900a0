"""Checks of configuration values, whose errors name what is accepted."""

import difflib
import numbers
import types
import typing
from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, Literal, NamedTuple

from keras_transformer.errors import InputError, shown

_KINDS = {
    int: "an integer",
    float: "a number",
    str: "a string",
    bool: "a boolean, true or false",
}


class Rule(NamedTuple):
    """A requirement on a field's value, as part of its annotated type.

    Attributes:
        accepted: the requirement in words.
        holds: returns True for an accepted value.
    """

    accepted: str
    holds: Callable[[Any], bool]

    def __repr__(self) -> str:
        # `help` shows rules in the signature of a section.
        return f"Rule({self.accepted!r})"


def at_most(highest: int) -> Rule:
    """Returns a rule that bounds a value, such as one that costs memory."""
    return Rule(f"{highest:,} or less", lambda value: value <= highest)


_LARGEST = 1e38  # about the largest float32; models compute in float32
_POSITIVE = Rule("greater than 0", lambda value: value > 0)
_NON_NEGATIVE = Rule("0 or more", lambda value: value >= 0)
_INT32 = Rule("below 2^31", lambda value: value < 2**31)
PositiveInt = Annotated[int, _POSITIVE, _INT32]
PositiveFloat = Annotated[
    float, _POSITIVE, Rule("1e-37 or more", lambda value: value >= 1e-37)
]
# Also of seeds and limits.
NonNegativeInt = Annotated[
    int, _NON_NEGATIVE, Rule("below 2^63", lambda value: value < 2**63)
]
NonNegativeFloat = Annotated[float, _NON_NEGATIVE]
Fraction = Annotated[float, Rule("at least 0, below 1", lambda x: 0 <= x < 1)]
# The range of seeds that NumPy, Keras and TensorFlow accept.
Seed = Annotated[int, Rule("at least 0, below 2^32", lambda x: 0 <= x < 2**32)]


class Section:
    """Base class of sections, which checks values by their annotations.

    For frozen dataclasses. A field's annotation is a plain type, one of the
    types above, an `Annotated` with a `Rule`, a `Literal` of strings, or one of
    these `| None`. Values are checked when an instance is created, so that
    every section can be written to a file and read again.
    """

    def __post_init__(self) -> None:
        for name, kind in field_types(type(self)).items():
            value = typed(self._key(name), getattr(self, name), kind)
            # Converted, for instance an integer to a float.
            object.__setattr__(self, name, value)
        hints = typing.get_type_hints(type(self), include_extras=True)
        for name, hint in hints.items():
            value = getattr(self, name)
            hint = _without_none(hint)
            if value is None:
                continue
            if typing.get_origin(hint) is Literal:
                words = typing.get_args(hint)
                accepted = "one of " + ", ".join(words)
                self.require(name, accepted, value in words)
            for rule in getattr(hint, "__metadata__", ()):
                self.require(name, rule.accepted, rule.holds(value))

    def require(self, name: str, accepted: str, condition: bool) -> None:
        """Refuses a field's value unless the condition holds.

        Raises:
            InputError: names the field, what is accepted, and the value.
        """
        require(condition, self._key(name), accepted, getattr(self, name))

    def _key(self, name):
        """Returns a field's name as in messages and files: `section.name`."""
        section = type(self).__name__.removesuffix("Config").lower()
        return f"{section}.{name}"


def field_types(section: type[Section]) -> dict[str, Any]:
    """The plain type of each field: without rules, and `str` for `Literal`."""
    hints = typing.get_type_hints(section)
    return {name: _with_plain_words(hint) for name, hint in hints.items()}


def require(condition: bool, name: str, accepted: str, value: object) -> None:
    """Refuses `value` under `name` unless the condition holds."""
    if not condition:
        raise InputError(f"{name} must be {accepted}. Received: {shown(value)}")


def mapping(value: object, where: str) -> None:
    """Refuses a value that isn't a mapping; `where` names its origin."""
    if not isinstance(value, Mapping):
        raise InputError(
            f"{where}: expected 'key: value' lines, or a mapping. "
            f"Received: {shown(value)}"
        )


def known(
    name: object, accepted: Collection[str], where: str, prefix: str = ""
) -> None:
    """Refuses a name that isn't accepted, suggesting the nearest."""
    if name in accepted:
        return
    close = difflib.get_close_matches(_name(name), list(accepted), n=1)
    hint = f", did you mean {prefix}{close[0]}?" if close else "."
    raise InputError(
        f"{where}: unknown key {prefix}{_name(name)}{hint} "
        f"Accepted: {', '.join(accepted)}"
    )


def _name(name):
    """A key for messages: a printable name as it is, else its `repr`."""
    is_name = isinstance(name, str) and name.isprintable()
    return name[:60] if is_name else shown(name, 60)


def typed(where: str, value: Any, annotation: Any) -> Any:
    """Converts `value` to the annotated type.

    Raises:
        InputError: `value` isn't of that type; names `where` and both.
    """
    kind = _without_none(annotation)
    if value is None and kind is not annotation:
        return None
    if typing.get_origin(kind) is tuple:
        return _strings(where, value)
    if kind is float and isinstance(value, str):
        # YAML 1.1 reads "1e-9" as a string, but the number is meant.
        try:
            value = float(value)
        except ValueError:
            pass
    if not isinstance(value, bool):  # NumPy's numbers become Python's.
        if isinstance(value, numbers.Integral):
            value = int(value)
        elif isinstance(value, numbers.Real):
            value = float(value)
    if kind is float and type(value) in (int, float):
        accepted = "a finite number below 10^38"
        require(abs(value) < _LARGEST, where, accepted, value)
        value = float(value)
    if type(value) is not kind:
        is_text = kind is str and value is not None
        quotes = "; put it in quotes in YAML" if is_text else ""
        raise InputError(
            f"{where} takes {_KINDS[kind]}. Received: {shown(value)}{quotes}"
        )
    return value


def _with_plain_words(annotation):
    """Returns the type with `str` in place of a `Literal`."""
    kind = _without_none(annotation)
    if typing.get_origin(kind) is not Literal:
        return annotation
    return str if kind is annotation else str | None


def _without_none(annotation):
    """Returns the type without `| None`."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return typing.get_args(annotation)[0]
    return annotation


def _strings(where, value):
    """Converts a list of strings to a tuple."""
    if not isinstance(value, list | tuple) or not all(
        isinstance(item, str) for item in value
    ):
        raise InputError(
            f"{where} takes a list of strings. Received: {shown(value)}"
        )
    return tuple(value)
