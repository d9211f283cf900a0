"""`export --verify-only`: the checks of an export, without an export."""

import json

from keras_transformer.cli.console import say, table
from keras_transformer.errors import InputError

# What may stand beside --verify-only.
_OPTIONS = ("command", "verify_only", "json")


def verify_only(arguments):
    """Runs every check on a version folder and prints what they found.

    Args:
        arguments: of `export`.

    Raises:
        InputError: another option was given, there is no SavedModel, or a
            check failed.
    """
    from keras_transformer.export.registry.versions import find_saved_model
    from keras_transformer.export.verification.proof import (
        check_in_fresh_process,
        require_passed,
    )

    _refuse_others(arguments)
    folder = find_saved_model(arguments.verify_only)
    say(f"checking {folder} in fresh processes")
    checks = check_in_fresh_process(folder, f"{folder}")
    if arguments.json:
        print(
            json.dumps(
                {
                    "path": str(folder),
                    "passed": all(check.passed for check in checks),
                    "checks": [vars(check) for check in checks],
                },
                ensure_ascii=False,
            )
        )
    else:
        rows = [
            (check.name, f"{_outcome(check):<6}  {check.detail}")
            for check in checks
        ]
        print(table(rows))
    require_passed(checks, f"{folder}")


def _outcome(check):
    return "passed" if check.passed else "FAILED"


def _refuse_others(arguments):
    given = [
        f"--{name.replace('_', '-')}"
        for name, value in vars(arguments).items()
        if name not in _OPTIONS and value not in (None, [], False)
    ]
    if given:
        raise InputError(
            f"--verify-only exports nothing, so {', '.join(given)} can't be "
            "with it. Accepted beside it: --json"
        )
