"""`InputError`: an error in a user's input, for the user to correct."""


class InputError(ValueError):
    """Something given to the package is not what it accepts.

    The message is one line for a person: what was received, where (file and
    line if there is one), and what would be accepted. The command line
    prints it and exits with 2; library callers catch it as a `ValueError`.
    """


def require_kind(value: object, kind: type, name: str) -> None:
    """Refuses an argument that is neither None nor of its class.

    Args:
        value: the argument.
        kind: the class.
        name: of the argument.

    Raises:
        InputError: `value` is of another class.
    """
    if value is not None and not isinstance(value, kind):
        raise InputError(
            f"{name}: takes {kind.__name__} or None. Received: {shown(value)}"
        )


def not_installed(package: str, extra: str, other: str = "") -> InputError:
    """The error to raise if a package is missing.

    Args:
        package: its name.
        extra: the extra of this project that installs it.
        other: an alternative, which the message appends after a comma.
    """
    return InputError(
        f"{package} isn't installed. Accepted: pip install '.[{extra}]' in the "
        f"project's folder{other and ', '}{other}"
    )


def shown(value: object, most: int = 100) -> str:
    """A value for a message: its `repr`, shortened if it is long.

    Args:
        value: the received value.
        most: maximum number of characters.
    """
    if isinstance(value, str) and len(value) > most:
        # Cut first, as `repr` of a text of megabytes takes long.
        return f"{value[:most]!r}... ({len(value):,} characters)"
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # E.g. an integer of too many digits.
        return f"a value of type {type(value).__name__} without end"
    if len(text) > most:
        return f"{text[:most]}... ({len(text):,} characters)"
    return text
