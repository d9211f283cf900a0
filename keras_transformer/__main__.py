"""`python -m keras_transformer`: the same as `keras-transformer`."""

from typing import NoReturn


def main() -> NoReturn:
    """Runs the command line, and ends with its exit status."""
    # Imported here so that importing this module costs and prints nothing.
    from keras_transformer.system.interpreters import leave_current_folder

    leave_current_folder()
    from keras_transformer.cli.main import console

    console()


if __name__ == "__main__":
    main()
