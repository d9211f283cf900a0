"""Every command and snippet of docs/serving.md does what it says."""

import json
import pathlib
import re
import shutil
import subprocess

import pytest

from keras_transformer.cli.main import build_parser, main
from tests.cli.conftest import ROOT, needs_serving
from tests.docs.pages import commands_of, examples
from tests.processes import run_python
from tests.serving.asking import ask

GUIDE = ROOT / "docs" / "serving.md"

pytestmark = needs_serving


def lines_of(command):
    """The words of the guide's commands of a subcommand."""
    every = commands_of("keras-transformer", GUIDE)
    return [words for words in every if words[0] == command]


@pytest.fixture(scope="module")
def place(export, tmp_path_factory):
    """A folder in which the guide's commands can be given."""
    from keras_transformer.exporting.server_files import write_server_files

    folder = tmp_path_factory.mktemp("guide")
    shutil.copytree(export, folder / "saved_models" / "en-zh")
    shutil.copytree(export / "1", folder / "elsewhere" / "en-zh" / "7")
    write_server_files(folder / "saved_models" / "en-zh")
    (folder / "in.txt").write_text("one two\n\nthree\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def ports(place, serve_by):
    """Serves as the guide says, on ports that are free."""
    ((_, *words),) = lines_of("serve")
    folder = f"{place}/saved_models"
    words = [word.replace("saved_models", folder) for word in words]
    server = serve_by(*words, "--no-access-log")
    return {"8501": str(server.rest_port), "8500": str(server.port)}


def at_ports(text, ports):
    return re.sub(r"(?<=127\.0\.0\.1:)850[01]", lambda m: ports[m[0]], text)


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
@pytest.mark.parametrize(
    "words", commands_of("curl", GUIDE), ids=lambda w: w[-1][-40:]
)
def test_curl(words, ports):
    words = [at_ports(word, ports) for word in words]
    done = subprocess.run(
        ["curl", "-sS", "--fail-with-body", *words],
        capture_output=True,
        timeout=300,
    )
    assert done.returncode == 0, done
    if "metrics" in words[-1]:
        assert b":tensorflow:serving:request_count counter" in done.stdout
        return
    kinds = {"predictions", "outputs", "model_version_status", "metadata"}
    assert kinds & json.loads(done.stdout).keys()


def test_the_answer_that_is_shown_has_the_keys_of_answers(ports):
    text = GUIDE.read_text("utf-8")
    shown = re.search(r'"predictions": \[(\{.*?\})', text, re.DOTALL)[1]
    address = f"127.0.0.1:{ports['8501']}"
    body = b'{"instances": ["one two"]}'
    answer = json.loads(ask(address, "/v1/models/en-zh:predict", body).body)
    assert json.loads(shown).keys() == answer["predictions"][0].keys()


@pytest.mark.parametrize("example", examples(GUIDE), ids=range(2))
def test_python(example, ports, tmp_path):
    """In a process that knows this package, and never imports TensorFlow."""
    code = at_ports(example.code.text, ports) + (
        "\nimport sys\nassert not {'tensorflow', 'numpy'} & set(sys.modules)\n"
    )
    if "keras_transformer" not in code:
        code += "assert 'keras_transformer' not in sys.modules\n"
    done = run_python("-c", code, folder=tmp_path, timeout=300)
    # A sentence a line, or a line for each method.
    lines = done.stdout.splitlines()
    assert len(lines) == (5 if "client.nbest" in code else 2)
    if "client.nbest" not in code:
        assert all(float(line.rpartition(" ")[2]) <= 0 for line in lines)


@pytest.mark.parametrize("words", lines_of("translate"), ids=" ".join)
def test_translate(words, ports, place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    assert main([at_ports(word, ports) for word in words]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == (7 if "--n-best" in words else 3)


def test_versions(place, tmp_path, monkeypatch, capsys):
    """One after the other, as they stand there; others test the checks."""
    from keras_transformer.exporting.registry import releases

    monkeypatch.setattr(releases, "check_in_fresh_process", lambda *_: ())
    monkeypatch.setattr(releases, "require_passed", lambda *_: None)
    copy = shutil.copytree(place, tmp_path / "copy")
    monkeypatch.chdir(copy)
    for words in lines_of("versions"):
        assert main(words) == 0, (words, capsys.readouterr().err)
    config = pathlib.Path("saved_models/models.config").read_text("utf-8")
    assert 'key: "canary" value: 7' in config
    assert 'key: "stable" value: 1' in config


def test_the_table_of_limits_is_the_defaults():
    text = GUIDE.read_text("utf-8")
    arguments = build_parser().parse_args(["serve"])
    row = r"\| `--([\w-]+)` \| (\d+)( MiB)?"
    for option, default, unit in re.findall(row, text):
        value = getattr(arguments, option.replace("-", "_"))
        assert value == int(default) * (2**20 if unit else 1)
