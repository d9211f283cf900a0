"""The tests of tests/jax_backend, in a process on JAX."""

import pathlib

from tests.on_jax import run_on_jax

FOLDER = pathlib.Path(__file__).with_name("jax_backend")


def test_they_pass_on_jax(request, tmp_path):
    slow = "slow" in request.config.getoption("-m").replace("not slow", "")
    done = run_on_jax(
        *("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"),
        *("-m", "slow" if slow else "not slow", f"--basetemp={tmp_path}/base"),
        FOLDER,
    )
    assert done.returncode == 0, done.stdout[-5000:]
