"""Modules of tests that are skipped, as their imports aren't there."""

import importlib.util

import pytest


class SkippedModule(pytest.Module):
    """A module of tests whose imports aren't there.

    Args:
        reason: why it is skipped.
    """

    def __init__(self, *arguments, reason="", **options):
        super().__init__(*arguments, **options)
        self._reason = reason

    def collect(self):
        pytest.skip(self._reason, allow_module_level=True)


def module_without(needed, extras, module_path, parent):
    """What `pytest_pycollect_makemodule` returns.

    Args:
        needed: names of packages.
        extras: that install them, for the reason.
        module_path: of the module of tests.
        parent: its collector.

    Returns:
        a `SkippedModule` if a package is missing, else None.
    """
    for name in needed:
        if not importlib.util.find_spec(name):
            return SkippedModule.from_parent(
                parent, path=module_path, reason=f"needs {extras}: no {name}"
            )
    return None
