"""Checks of a tokenizer's options."""

from keras_transformer.errors import InputError, shown


class OptionError(InputError):
    """An invalid option of a tokenizer, unlike errors in its vocabulary."""


def require_option(
    condition: bool, name: str, accepted: str, value: object
) -> None:
    """Refuses an option's value unless the condition holds.

    Args:
        condition: True if the value is accepted.
        name: the option's name.
        accepted: the accepted values, in words.
        value: the given value.

    Raises:
        OptionError: has the name, the accepted values and the given one.
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
