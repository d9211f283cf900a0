"""`InputError`: what a user gave is wrong, for the user to correct."""


class InputError(ValueError):
    """Something given to the package is not what it accepts.

    The message is one line for a person: what was received, where (file and
    line if there is one), and what would be accepted. The command line
    prints it and exits with 2; library callers catch it as a `ValueError`.
    """


def require_kind(value: object, kind: type, name: str) -> None:
    """Refuses an argument that is neither None nor of its class.

    Args:
        value: what was given.
        kind: the class.
        name: of the argument.

    Raises:
        InputError: names the class.
    """
    if value is not None and not isinstance(value, kind):
        raise InputError(
            f"{name}: takes {kind.__name__} or None. Received: {shown(value)}"
        )


def not_installed(package: str, extra: str, other: str = "") -> InputError:
    """The error of a package that is missing.

    Args:
        package: its name.
        extra: of this package, by which it is installed.
        other: what would be accepted, too, after a comma.
    """
    return InputError(
        f"{package} isn't installed. Accepted: pip install '.[{extra}]' in the "
        f"project's folder{other and ', '}{other}"
    )


def shown(value: object, most: int = 100) -> str:
    """A value as a message repeats it: `repr`, cut where it is long.

    Args:
        value: whatever was received.
        most: characters.
    """
    if isinstance(value, str) and len(value) > most:
        # Not first the whole of a text of megabytes.
        return f"{value[:most]!r}... ({len(value):,} characters)"
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # An integer of too many digits.
        return f"a value of type {type(value).__name__} without end"
    if len(text) > most:
        return f"{text[:most]}... ({len(text):,} characters)"
    return text
