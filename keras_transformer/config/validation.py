"""Checks of configuration values, each refusal naming what is accepted."""

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
        accepted: the same in words.
        holds: True of a value that is accepted.
    """

    accepted: str
    holds: Callable[[Any], bool]

    def __repr__(self) -> str:
        # `help` of a section shows it in the signature.
        return f"Rule({self.accepted!r})"


def at_most(highest: int) -> Rule:
    """The rule of an upper bound, of what costs memory or time at once."""
    return Rule(f"{highest:,} or less", lambda value: value <= highest)


_LARGEST = 1e38  # of float32, in which all is computed
_POSITIVE = Rule("greater than 0", lambda value: value > 0)
_NON_NEGATIVE = Rule("0 or more", lambda value: value >= 0)
_INT32 = Rule("below 2^31", lambda value: value < 2**31)
PositiveInt = Annotated[int, _POSITIVE, _INT32]
PositiveFloat = Annotated[
    float, _POSITIVE, Rule("1e-37 or more", lambda value: value >= 1e-37)
]
# Seeds and limits are among these.
NonNegativeInt = Annotated[
    int, _NON_NEGATIVE, Rule("below 2^63", lambda value: value < 2**63)
]
NonNegativeFloat = Annotated[float, _NON_NEGATIVE]
Fraction = Annotated[float, Rule("at least 0, below 1", lambda x: 0 <= x < 1)]
# What NumPy, Keras and TensorFlow take.
Seed = Annotated[int, Rule("at least 0, below 2^32", lambda x: 0 <= x < 2**32)]


class Section:
    """A section of a configuration, whose values are what their types say.

    For frozen dataclasses: a field is annotated with a type, one of those
    above or `Annotated` with a `Rule` of its own, a `Literal` of strings, or
    one of these or None. Values are checked when an instance is made, so that
    what a section has can be written to a file and read again.
    """

    def __post_init__(self) -> None:
        for name, kind in field_types(type(self)).items():
            value = typed(self._key(name), getattr(self, name), kind)
            object.__setattr__(self, name, value)  # an integer as a float
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
        """A field's name as messages and files have it."""
        section = type(self).__name__.removesuffix("Config").lower()
        return f"{section}.{name}"


def field_types(section: type[Section]) -> dict[str, Any]:
    """The plain type of each field: without rules, words as `str`."""
    hints = typing.get_type_hints(section)
    return {name: _with_plain_words(hint) for name, hint in hints.items()}


def require(condition: bool, name: str, accepted: str, value: object) -> None:
    """Refuses `value` under `name` unless the condition holds."""
    if not condition:
        raise InputError(f"{name} must be {accepted}. Received: {shown(value)}")


def mapping(value: object, where: str) -> None:
    """Refuses what isn't a mapping; `where` names its source."""
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
    """A key as messages repeat it: a name as it is, all else as `repr`."""
    is_name = isinstance(name, str) and name.isprintable()
    return name[:60] if is_name else shown(name, 60)


def typed(where: str, value: Any, annotation: Any) -> Any:
    """`value` as the annotated type, or an `InputError` naming both."""
    kind = _without_none(annotation)
    if value is None and kind is not annotation:
        return None
    if typing.get_origin(kind) is tuple:
        return _strings(where, value)
    if kind is float and isinstance(value, str):
        # YAML 1.1 reads "1e-9" as a string; a person means the number.
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
        quotes = ", which YAML reads in it; use quotes" if kind is str else ""
        raise InputError(
            f"{where} takes {_KINDS[kind]}. Received: {shown(value)}{quotes}"
        )
    return value


def _with_plain_words(annotation):
    """The type with `str` in place of a `Literal`."""
    kind = _without_none(annotation)
    if typing.get_origin(kind) is not Literal:
        return annotation
    return str if kind is annotation else str | None


def _without_none(annotation):
    """The type of a value that isn't None."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return typing.get_args(annotation)[0]
    return annotation


def _strings(where, value):
    """A list of strings as a tuple."""
    if not isinstance(value, list | tuple) or not all(
        isinstance(item, str) for item in value
    ):
        raise InputError(
            f"{where} takes a list of strings. Received: {shown(value)}"
        )
    return tuple(value)
