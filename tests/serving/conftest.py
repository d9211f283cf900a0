"""Toy models on disk, and a server of them."""

import importlib.util

import pytest

EXTRA = ("tensorflow_serving", "grpc_health", "starlette", "uvicorn")
MISSING = [name for name in EXTRA if not importlib.util.find_spec(name)]


class SkippedModule(pytest.Module):
    """A module of tests whose imports aren't there."""

    def collect(self):
        pytest.skip(
            f"needs the extra [serving]: no {MISSING[0]}",
            allow_module_level=True,
        )


def pytest_pycollect_makemodule(module_path, parent):
    """Skips what can't be imported."""
    if MISSING:
        return SkippedModule.from_parent(parent, path=module_path)
    return None


@pytest.fixture(scope="session")
def toy_base(tmp_path_factory):
    """The folder of a model with the versions 1 and 2; never changed."""
    from tests.serving.toy_models import write_version

    base = tmp_path_factory.mktemp("models") / "toy"
    base.mkdir()
    write_version(base, 1, mark="one ")
    write_version(base, 2, warmup=["1.5"], mark="")
    return base


@pytest.fixture(scope="session")
def toy_configs(toy_base):
    """Both versions of the toy model; version 1 is `stable`."""
    from keras_transformer.serving.model_config import ModelConfig

    labels = (("stable", 1),)
    return (ModelConfig("toy", toy_base, latest=2, labels=labels),)


@pytest.fixture(scope="session")
def serve():
    """Starts servers on free ports, and stops them in the end."""
    from keras_transformer.serving.options import ServerOptions
    from keras_transformer.serving.server import Server

    started = []

    def start(**options):
        given = {"port": 0, "rest_port": 0, "access_log": False, **options}
        server = Server(ServerOptions(**given))
        server.start()
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop(1)
