"""The tests of tests/jax_backend, in a process on JAX."""

import pathlib

import pytest

from tests.on_jax import run_on_jax

FOLDER = pathlib.Path(__file__).with_name("jax_backend")


@pytest.mark.slow
@pytest.mark.parametrize("which", ["not slow", "slow"])
def test_they_pass_on_jax(which, tmp_path):
    done = run_on_jax(
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"),
        *("-m", which, f"--basetemp={tmp_path}/base"),
        FOLDER,
    )
    assert done.returncode == 0, done.stdout[-5000:]
