"""Processes whose Keras computes on JAX, as one has a single backend."""

import os
import pathlib
import subprocess
import sys

import pytest

from keras_transformer.training import jax_runtime

ROOT = pathlib.Path(__file__).resolve().parents[1]


def run_on_jax(*command, timeout=600, **variables):
    """Runs Python with a command line and JAX on the processor.

    Returns:
        `subprocess.CompletedProcess`, with text.
    """
    if not jax_runtime.is_installed():
        pytest.skip("jax isn't installed: pip install '.[jax]'")
    environment = {
        **os.environ,
        "KERAS_BACKEND": "jax",
        "JAX_PLATFORMS": "cpu",
        **variables,
    }
    return subprocess.run(
        [sys.executable, *map(str, command)],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout,
    )
