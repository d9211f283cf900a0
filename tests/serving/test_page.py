"""The page's files over HTTP, without a browser."""

import json
import shutil

import pytest

from keras_transformer.cli.main import build_parser
from keras_transformer.cli.serve import server_options
from keras_transformer.contract.layout import DESCRIPTION
from keras_transformer.serving.page.files import ASSETS
from keras_transformer.serving.server.config_files import ModelConfig
from tests.serving.asking import ask

FILES = sorted(path.name for path in ASSETS.iterdir())
TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


def path_of(name):
    return "/" if name == "index.html" else f"/assets/{name}"


def policy_of(answer):
    directives = answer.headers["content-security-policy"].split("; ")
    return dict(directive.split(" ", 1) for directive in directives)


@pytest.mark.parametrize("name", FILES)
def test_every_file_is_served_with_its_type(server, name):
    answer = ask(server, path_of(name))
    assert answer.status == 200
    assert answer.body == (ASSETS / name).read_bytes()
    assert answer.headers["content-type"] == TYPES[name.rsplit(".")[-1]]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/", "/assets/main.js"])
def test_the_policy_allows_nothing_inline_and_nothing_outside(server, path):
    policy = policy_of(ask(server, path))
    assert policy["default-src"] == "'none'"
    for kind in ("script-src", "style-src", "img-src", "connect-src"):
        assert policy[kind] == "'self'"
    for kind in ("base-uri", "form-action", "frame-ancestors"):
        assert policy[kind] == "'none'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert policy["trusted-types"] == "'none'"


def test_languages_are_those_that_an_export_says(serve, toy_base, tmp_path):
    for name, languages in (
        ("demo", {"source_language": "en", "target_language": "pt_BR"}),
        ("odd", {"source_language": "<b>", "target_language": 1}),
        ("older", None),
    ):
        folder = tmp_path / name / "1"
        shutil.copytree(toy_base / "1", folder)
        about = folder / DESCRIPTION
        about.parent.mkdir(exist_ok=True)
        description = {"config": {"data": languages}}
        about.write_text(json.dumps(description), encoding="utf-8")
    configs = [ModelConfig(path.name, path) for path in tmp_path.iterdir()]
    server = serve(models=tuple(configs), port=None)
    headers = {"X-Requested-With": "keras-transformer"}
    answer = ask(server, "/assets/models.json", headers=headers)
    assert json.loads(answer.body) == {
        "models": ["demo", "odd", "older"],
        "languages": {"demo": ["en", "pt_BR"]},
    }


def test_all_else_is_the_contract_s_error(server):
    for method, path in (
        *(("POST", "/"), ("DELETE", "/assets/main.js"), ("GET", "//")),
        *(("OPTIONS", "/assets/models.json"), ("GET", "/index.html")),
        *(("GET", "/assets/"), ("GET", "/assets/index.html")),
        ("GET", "/assets/../page.py"),
        ("GET", "/assets/%2e%2e/page.py"),
    ):
        answer = ask(server, path, method=method)
        assert answer.status == 404
        assert json.loads(answer.body) == {"error": f"Not found: {path}"}
        assert "content-security-policy" not in answer.headers


def test_the_page_can_be_turned_off(serve):
    server = serve(port=None, page=False)
    for path in ("/", "/assets/main.js", "/assets/models.json"):
        answer = ask(server, path)
        assert answer.status == 404
        assert json.loads(answer.body) == {"error": f"Not found: {path}"}
    flags = ["serve", "--model_base_path", "."]
    parser = build_parser()
    assert server_options(parser.parse_args(flags)).page
    assert not server_options(parser.parse_args([*flags, "--no-page"])).page
