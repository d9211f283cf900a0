"""The page's files over HTTP, without a browser."""

import http.client
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from keras_transformer.cli.main import build_parser
from keras_transformer.cli.serve import server_options
from keras_transformer.contract.layout import DESCRIPTION
from keras_transformer.serving.page.files import ASSETS
from keras_transformer.serving.server.config_files import ModelConfig
from tests.serving.asking import ask, host

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(path.name for path in ASSETS.iterdir())
TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}


@pytest.fixture(scope="module")
def served(serve, toy_configs):
    return serve(models=toy_configs, port=None)


def path_of(name):
    return "/" if name == "index.html" else f"/assets/{name}"


def policy_of(answer):
    directives = answer.headers["content-security-policy"].split("; ")
    return dict(directive.split(" ", 1) for directive in directives)


@pytest.mark.parametrize("name", FILES)
def test_every_file_is_served_with_its_type(served, name):
    answer = ask(host(served), path_of(name))
    assert answer.status == 200
    assert answer.body == (ASSETS / name).read_bytes()
    assert answer.headers["content-type"] == TYPES[name.rsplit(".")[-1]]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/", "/assets/main.js"])
def test_the_policy_allows_nothing_inline_and_nothing_outside(served, path):
    policy = policy_of(ask(host(served), path))
    assert policy["default-src"] == "'none'"
    for kind in ("script-src", "style-src", "img-src", "connect-src"):
        assert policy[kind] == "'self'"
    for kind in ("base-uri", "form-action", "frame-ancestors"):
        assert policy[kind] == "'none'"
    assert policy["require-trusted-types-for"] == "'script'"
    assert policy["trusted-types"] == "'none'"


def test_head_is_answered_without_a_body(served):
    connection = http.client.HTTPConnection(host(served), timeout=20)
    connection.request("HEAD", "/")
    answer = connection.getresponse()
    length = len((ASSETS / "index.html").read_bytes())
    assert answer.status == 200
    assert answer.headers["content-length"] == str(length)
    assert answer.read() == b""
    connection.close()


def test_languages_are_those_that_an_export_says(serve, toy_base, tmp_path):
    for name, languages in (
        ("demo", {"source": "en", "target": "pt_BR"}),
        ("odd", {"source": "<b>", "target": 1}),
        ("older", None),
    ):
        folder = tmp_path / name / "1"
        shutil.copytree(toy_base / "1", folder)
        about = folder / DESCRIPTION
        about.parent.mkdir(exist_ok=True)
        about.write_text(json.dumps({"languages": languages}), encoding="utf-8")
    configs = [ModelConfig(path.name, path) for path in tmp_path.iterdir()]
    server = serve(models=tuple(configs), port=None)
    headers = {"X-Requested-With": "keras-transformer"}
    answer = ask(host(server), "/assets/models.json", headers=headers)
    assert json.loads(answer.body) == {
        "models": ["demo", "odd", "older"],
        "languages": {"demo": ["en", "pt_BR"]},
    }


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/"),
        ("DELETE", "/assets/main.js"),
        ("OPTIONS", "/assets/models.json"),
        ("GET", "/index.html"),
        ("GET", "/assets/"),
        ("GET", "/assets/index.html"),
        ("GET", "/assets/../page.py"),
        ("GET", "/assets/%2e%2e/page.py"),
        ("GET", "//"),
    ],
)
def test_all_else_is_the_contract_s_error(served, method, path):
    answer = ask(host(served), path, method=method)
    assert answer.status == 404
    assert json.loads(answer.body) == {"error": f"Not found: {path}"}
    assert "content-security-policy" not in answer.headers


def test_the_page_can_be_turned_off(serve, toy_configs):
    served = serve(models=toy_configs, port=None, page=False)
    for path in ("/", "/assets/main.js", "/assets/models.json"):
        answer = ask(host(served), path)
        assert answer.status == 404
        assert json.loads(answer.body) == {"error": f"Not found: {path}"}
    flags = ["serve", "--model_base_path", "."]
    parser = build_parser()
    assert server_options(parser.parse_args(flags)).page
    assert not server_options(parser.parse_args([*flags, "--no-page"])).page


def test_no_file_names_an_address_outside():
    for name in FILES:
        text = (ASSETS / name).read_text(encoding="utf-8")
        text = text.replace('xmlns="http://www.w3.org/2000/svg"', "")
        assert not re.search(r"(https?:|[\"'(])//", text), name


def test_the_wheel_has_the_files(tmp_path):
    """Built of a copy, as setuptools writes beside what it builds."""
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        (source / name).write_bytes((ROOT / name).read_bytes())
    package = source / "keras_transformer"
    for path in (ROOT / "keras_transformer").rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            copy = package / path.relative_to(ROOT / "keras_transformer")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    code = "import setuptools.build_meta as b; print(b.build_wheel('.'))"
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=source,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    wheel = source / result.stdout.split()[-1]
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    folder = "keras_transformer/serving/page/assets"
    assert {f"{folder}/{name}" for name in FILES} <= set(names)
