"""`InputError`: what a user gave is wrong, for the user to correct."""


class InputError(ValueError):
    """Something given to the package is not what it accepts.

    The message is one line for a person: what was received, where (file and
    line if there is one), and what would be accepted. The command line
    prints it and exits with 2; library callers catch it as a `ValueError`.
    """
