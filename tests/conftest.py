"""What all tests share."""

import os
import pathlib

import pytest

# Read by TensorFlow when it is first imported: only errors are logged.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


@pytest.fixture(scope="session")
def shared():
    """The folder of corpora and reference values beside the checkout."""
    path = pathlib.Path(__file__).resolve().parents[2] / "shared"
    if not path.is_dir():
        pytest.skip("../shared isn't there: its data is not in the repository")
    return path
