"""Tests that Keras' JAX backend runs: tests/test_jax_backend.py starts them.

A process has one backend, and all other tests have TensorFlow.
"""

import os

if os.environ.get("KERAS_BACKEND") != "jax":
    collect_ignore_glob = ["*"]
else:
    from keras_transformer.cli.console import load_jax

    load_jax()
    from tests.training.conftest import config, new_run, prepared  # noqa: F401
