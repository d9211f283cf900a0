"""What all attacks share: their size, their figures, and what is attacked.

`KERAS_TRANSFORMER_ATTACK_SIZE` is the share of the full size that is run, such
as 0.02 (default: 1). `python scripts/benchmarks/attack` runs these tests and
prints their figures.
"""

import json
import math
import os
import pathlib

import pytest

from tests.attack.report import FIGURES, HANG, SIZE, Figures
from tests.cli.conftest import corpus, data, export, run  # noqa: F401
from tests.serving.conftest import toy_base  # noqa: F401
from tests.skipped_modules import module_without

# MiB that the server of the toy model may take at its peak, and requests
# between two looks at it.
BOUND, EVERY = 1024, 500
EXTRA = ("hypothesis", "tensorflow_serving", "grpc_health", "starlette")


def pytest_pycollect_makemodule(module_path, parent):
    """Skips what can't be imported."""
    extras = "the extras [serving] and [dev]"
    return module_without(EXTRA, extras, module_path, parent)


@pytest.fixture(scope="session")
def share():
    """Turns a full number into the part of it that is wanted, 1 or more."""
    size = float(os.environ.get(SIZE, "1"))
    return lambda full: max(1, math.ceil(size * full))


@pytest.fixture(scope="session")
def figures():
    """Takes what was done; written down in the end, if somebody asked."""
    figures = Figures()
    yield figures
    if path := os.environ.get(FIGURES):
        pathlib.Path(path).write_text(json.dumps(figures.rows))


@pytest.fixture(scope="module")
def served(toy_base, tmp_path_factory):  # noqa: F811
    """A server of its own process, of both versions; 1 is `stable`."""
    from tests.attack.served import Served
    from tests.fake_models import MODELS_CONFIG

    config = tmp_path_factory.mktemp("config") / "models.config"
    config.write_text(MODELS_CONFIG.format(base=toy_base))
    with Served("--model_config_file", config) as server:
        yield server


@pytest.fixture
def watched(served, figures, request):
    """Counts and notes a test's requests, and looks at the server.

    After each of them `look` is to be called.
    """
    with figures.attack(request.node.name.removeprefix("test_")) as attack:

        def look():
            served.check_log()
            if attack.count % EVERY == 0:
                served.check(HANG)

        attack.look = look
        yield attack
        served.check(HANG)
        attack.mib = served.memory()
        assert attack.mib is None or attack.mib < BOUND
