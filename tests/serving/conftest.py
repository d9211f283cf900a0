"""Toy models on disk, and a server of them."""

import contextlib

import pytest

from tests import chromium
from tests.skipped_modules import module_without

EXTRA = ("tensorflow_serving", "grpc_health", "starlette", "uvicorn")


def pytest_pycollect_makemodule(module_path, parent):
    """Skips what can't be imported."""
    extras = "the extra [serving]"
    return module_without(EXTRA, extras, module_path, parent)


@pytest.fixture(scope="session")
def toy_base(tmp_path_factory):
    """The folder of a model with the versions 1 and 2; never changed."""
    from tests.fake_models import write_version

    base = tmp_path_factory.mktemp("models") / "toy"
    base.mkdir()
    write_version(base, 1, mark="one ")
    write_version(base, 2, warmup=["1.5"], mark="")
    return base


@pytest.fixture(scope="session")
def serve(request):
    """Starts servers on free ports, and stops them in the end.

    They serve both versions of the toy model, 1 as `stable`, unless others are
    given.
    """
    from keras_transformer.serving.server.config_files import ModelConfig
    from keras_transformer.serving.server.server import Server, ServerOptions

    started = []

    def start(**options):
        given = {"port": 0, "rest_port": 0, "access_log": False, **options}
        if not {"models", "config_file"} & options.keys():
            base = request.getfixturevalue("toy_base")
            toy = ModelConfig("toy", base, latest=2, labels=(("stable", 1),))
            given["models"] = (toy,)
        server = Server(ServerOptions(**given))
        server.start()
        started.append(server)
        return server

    yield start
    for server in started:
        server.stop(1)


@pytest.fixture(scope="session")
def server(serve):
    """A server of the toy models with the usual settings."""
    return serve()


@pytest.fixture
def closed():
    """Takes what has to be closed in the end, the latest first."""
    with contextlib.ExitStack() as stack:
        yield lambda one: stack.enter_context(contextlib.closing(one))


# The page in a browser.

browser = chromium.browser


@pytest.fixture(scope="session")
def page_server(serve, toy_base, tmp_path_factory):
    """A translator that has every signature, and a model with one only."""
    from keras_transformer.serving.server.admission import Limits
    from keras_transformer.serving.server.config_files import ModelConfig
    from tests.fake_models import write_translator

    base = tmp_path_factory.mktemp("translators") / "en-zh"
    write_translator(base, 3)
    return serve(
        models=(
            ModelConfig("en-zh", base),
            ModelConfig("toy", toy_base, latest=2),
        ),
        port=None,
        limits=Limits(max_text_bytes=200),
    )


@pytest.fixture
def open_page(browser, page_server):
    """Opens the page with settings of Playwright's `new_context`.

    In the end, no script has failed, and nothing was asked of any other
    server.
    """
    address = f"http://127.0.0.1:{page_server.rest_port}/"
    contexts, requests, problems = [], [], []

    def look(message):
        # It says so of every answer that isn't 200, too.
        if message.type == "error" and "Failed to load" not in message.text:
            problems.append(message.text)

    def opened(**settings):
        context = browser.new_context(**{"locale": "en-GB", **settings})
        contexts.append(context)
        context.set_default_timeout(chromium.PATIENCE_MS)
        page = context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("console", look)
        page.goto(address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert problems == []
    assert [url for url in requests if not url.startswith(address)] == []
