"""`python -m keras_transformer`: the same as `keras-transformer`."""

import sys


def main() -> int:
    """Runs the command line and returns its exit status."""
    # Imported here so that importing this module costs and prints nothing.
    from keras_transformer.interpreters import leave_current_folder

    leave_current_folder()
    from keras_transformer.cli.main import console

    return console()


if __name__ == "__main__":
    sys.exit(main())
