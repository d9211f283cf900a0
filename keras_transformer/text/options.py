"""Checks of a tokenizer's options."""

from keras_transformer.errors import InputError, shown


class OptionError(InputError):
    """An option that a tokenizer doesn't take; its vocabulary may be right."""


def require_option(
    condition: bool, name: str, accepted: str, value: object
) -> None:
    """Refuses an option's value unless the condition holds.

    Args:
        condition: True if the value is accepted.
        name: of the option.
        accepted: what is, in words.
        value: that it was given.

    Raises:
        OptionError: names all three.
    """
    if not condition:
        raise OptionError(
            f"option {name} is {shown(value)}. Accepted: {accepted}"
        )


def require_boolean(name: str, value: object) -> None:
    """Refuses an option that is neither true nor false.

    Raises:
        OptionError: see `require_option`.
    """
    require_option(isinstance(value, bool), name, "true or false", value)
