"""The commands of the guide to OPUS-MT's models, on the small model."""

import io
import json
import re
import shlex
import signal
import socket
import threading

import pytest

from keras_transformer.cli.main import build_parser, main
from keras_transformer.data.demo import load_demo_corpus
from tests.cli.conftest import ROOT, start
from tests.importing.conftest import unpack
from tests.serving.asking import ask

GUIDE = ROOT / "docs/en/guides/opus-mt.md"
# As short as can be; the guide has its own lengths.
SHORT = ("--epochs=1", "--set=training.threads=1")


def commands():
    """The words of each command; of a pipe, those of its last part."""
    blocks = re.findall(r"```sh\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    lines = [line for line in lines if "keras-transformer" in line]
    return [shlex.split(line.split("| ")[-1])[1:] for line in lines]


def test_the_guide_goes_the_whole_way():
    assert {words[0] for words in commands()} == {
        *("import", "info", "translate", "evaluate", "score", "plot"),
        *("prepare", "train", "export", "serve"),
    }


def test_every_command_is_one():
    for words in commands():
        build_parser().parse_args(words)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """What the guide starts from."""
    monkeypatch.chdir(tmp_path)
    unpack("big", tmp_path / "opus-mt-en-zh")
    pairs = load_demo_corpus().train
    for name, part in (("pairs", pairs[:120]), ("test", pairs[200:210])):
        lines = [f"{source}\t{target}\n" for source, target in part]
        (tmp_path / f"{name}.tsv").write_text("".join(lines))
    return tmp_path


@pytest.fixture
def ask_run(capsys, folder):
    """What a run makes of a text."""
    (folder / "text").write_text("I go to Shanghai.\n")

    def ask(run):
        capsys.readouterr()
        assert main(["translate", f"--run={run}", "--input=text"]) == 0
        return capsys.readouterr().out.rstrip("\n")

    return ask


@pytest.mark.slow
def test_the_commands_lead_from_a_folder_to_a_server(
    folder, monkeypatch, capsys, ask_run
):
    stdin = io.TextIOWrapper(io.BytesIO(b"I go.\n"))
    monkeypatch.setattr("sys.stdin", stdin)
    *before, serve = commands()
    for words in before:
        words += SHORT if words[0] == "train" else ()
        capsys.readouterr()
        assert main(words) == 0, words
        if words[0] == "info":
            said = capsys.readouterr().out
            assert "apache-2.0" in said
            assert "sha256" in said
    described = folder / "saved_models/en-zh/1/assets.extra"
    described = json.loads((described / "keras_transformer.json").read_text())
    assert described["imported"]["license"] == "apache-2.0"
    answer = served(folder, serve, "I go to Shanghai.")
    assert answer["translation"] == ask_run("runs/mine")


def served(folder, words, text):
    """What the server of a command says of a text."""
    with socket.create_server(("127.0.0.1", 0)) as one:
        port = one.getsockname()[1]
    base = folder / words[-1]
    process = start(
        *(*words[:-1], base, "--engine=embedded", "--port=0"),
        *("--rest_api_port", port),
    )
    timer = threading.Timer(120, process.kill)  # Whatever happens, it ends.
    timer.start()
    for line in process.stderr:
        if line.startswith(("gRPC on", "page at")):
            break
    body = json.dumps({"instances": [text]}).encode()
    answer = ask(f"127.0.0.1:{port}", "/v1/models/en-zh:predict", body)
    process.send_signal(signal.SIGTERM)
    process.communicate()
    timer.cancel()
    assert answer.status == 200
    return json.loads(answer.body)["predictions"][0]
