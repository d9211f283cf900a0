"""The tests of tests/jax_backend, each file in a process on JAX."""

import pathlib

import pytest

from tests.on_jax import run_on_jax

FOLDER = pathlib.Path(__file__).with_name("jax_backend")


@pytest.mark.parametrize(
    "file", sorted(FOLDER.glob("test_*.py")), ids=lambda file: file.stem
)
def test_passes_on_jax(file, request, tmp_path):
    slow = "slow" in request.config.getoption("-m").replace("not slow", "")
    done = run_on_jax(
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"),
        *("-m", "slow" if slow else "not slow", f"--basetemp={tmp_path}/base"),
        file,
    )
    nothing_selected = 5
    assert done.returncode in (0, nothing_selected), done.stdout[-5000:]
