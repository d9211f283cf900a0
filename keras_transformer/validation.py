"""Checks of configuration values, each refusal naming what is accepted."""

import difflib
import math
import types
import typing

from keras_transformer.errors import InputError

_KINDS = {
    int: "an integer",
    float: "a number",
    str: "a string",
    bool: "a boolean, true or false",
}


def require(condition, name, accepted, value):
    """Refuses `value` under `name` unless the condition holds."""
    if not condition:
        raise InputError(f"{name} must be {accepted}. Received: {value!r}")


def one_of(name, value, accepted):
    """Refuses a value that is none of the accepted."""
    require(value in accepted, name, "one of " + ", ".join(accepted), value)


def positive(section, config, *names):
    """Refuses fields of a section that aren't above 0."""
    for name in names:
        value = getattr(config, name)
        require(value > 0, f"{section}.{name}", "greater than 0", value)


def fraction(section, config, *names):
    """Refuses fields of a section outside [0, 1)."""
    for name in names:
        value = getattr(config, name)
        require(
            0 <= value < 1, f"{section}.{name}", "at least 0, below 1", value
        )


def seed(section, config):
    """Refuses a seed that NumPy, Keras or TensorFlow can't take."""
    require(
        0 <= config.seed < 2**32,
        f"{section}.seed",
        "at least 0, below 2^32",
        config.seed,
    )


def mapping(value, where):
    """Refuses what isn't a mapping; `where` tells its source."""
    if not isinstance(value, dict):
        raise InputError(
            f"{where}: expected 'key: value' lines. Received: {value!r}"
        )


def known(name, accepted, where, prefix=""):
    """Refuses a name that isn't accepted, suggesting the nearest."""
    if name in accepted:
        return
    close = difflib.get_close_matches(str(name), list(accepted), n=1)
    hint = f", did you mean {prefix}{close[0]}?" if close else "."
    raise InputError(
        f"{where}: unknown key {prefix}{name}{hint} "
        f"Accepted: {', '.join(accepted)}"
    )


def typed(where, value, annotation):
    """`value` as the annotated type, or an `InputError` naming both."""
    options = (
        typing.get_args(annotation)
        if isinstance(annotation, types.UnionType)
        else (annotation,)
    )
    if value is None and type(None) in options:
        return None
    kind = options[0]
    if typing.get_origin(kind) is tuple:
        return _strings(where, value)
    if kind is float and isinstance(value, str):
        # YAML 1.1 reads "1e-9" as a string; a person means the number.
        try:
            value = float(value)
        except ValueError:
            pass
    if kind is float and type(value) is int:
        value = float(value)
    if kind is float and isinstance(value, float):
        require(math.isfinite(value), where, "a finite number", value)
    if type(value) is not kind:
        quotes = ", which YAML reads in it; use quotes" if kind is str else ""
        raise InputError(
            f"{where} takes {_KINDS[kind]}. Received: {value!r}{quotes}"
        )
    return value


def _strings(where, value):
    """A list of strings as a tuple."""
    if not isinstance(value, list | tuple) or not all(
        isinstance(item, str) for item in value
    ):
        raise InputError(
            f"{where} takes a list of strings. Received: {value!r}"
        )
    return tuple(value)
