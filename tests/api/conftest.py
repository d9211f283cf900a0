"""A run with random weights, from words of three letters to letters."""

import pytest

from keras_transformer.training.run import Run
from tests.built_once import built_once
from tests.toy_runs import CONFIGURABLE, ONE_LAYER, write_run


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Of the run; to be read only."""
    return built_once(
        tmp_path_factory,
        "api_run",
        lambda out: write_run(out, CONFIGURABLE[0], ONE_LAYER),
    )


@pytest.fixture(scope="session")
def run(folder):
    return Run.load(folder)
