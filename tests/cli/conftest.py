"""The command line on the toy corpus: prepared, trained, exported once."""

import contextlib
import importlib.util
import os
import pathlib
import re
import resource
import subprocess
import sys

import pytest

from keras_transformer.api import training
from keras_transformer.cli import serve as command
from keras_transformer.cli import train
from keras_transformer.cli.main import build_parser, main
from keras_transformer.data.prepared import PreparedData
from keras_transformer.exporting.verification import c_api
from keras_transformer.exporting.writer import saved_model
from tests.built_once import built_once
from tests.importing.conftest import copy, folders  # noqa: F401
from tests.serving.conftest import serve  # noqa: F401
from tests.toy_models import MODEL, write_corpus
from tests.toy_runs import CONFIGURABLE, write_run

LIMITED = """
import resource, runpy, sys
most = int(sys.argv.pop(1))
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
runpy.run_module("keras_transformer", run_name="__main__", alter_sys=True)
"""
ROOT = pathlib.Path(__file__).resolve().parents[2]
needs_serving = pytest.mark.skipif(
    not all(
        importlib.util.find_spec(name)
        for name in ("tensorflow_serving", "grpc_health", "uvicorn")
    ),
    reason="needs the extra [serving]",
)

DATA_OPTIONS = [
    *("--source-language=en", "--source-tokenizer=word"),
    *("--target-language=en", "--target-tokenizer=word"),
    "--set=data.lowercase=true",
]
TRAIN_OPTIONS = [
    "--preset=demo",
    *(f"--set=model.{key}={value}" for key, value in MODEL.items()),
    "--set=training.warmup_steps=20",
    "--set=training.checkpoint_every=2",
    "--set=training.batch_sentences=16",
    # More parts of a batch would be more to trace.
    "--set=training.threads=1",
]


@pytest.fixture
def xla_stays(monkeypatch):
    """Tests that follow in this process compile."""
    monkeypatch.setattr(c_api, "disable_xla", lambda: True)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    write_corpus(folder)
    return folder


@pytest.fixture(scope="session")
def data(tmp_path_factory, corpus):
    def prepare(out):
        files = ["--train", corpus / "train.tsv", "--dev", corpus / "dev.tsv"]
        keep = "--set=data.remove_duplicates=false"
        call("prepare", *files, "--out", out, *DATA_OPTIONS, keep)

    return built_once(tmp_path_factory, "toy_data", prepare)


@pytest.fixture(scope="session")
def run(tmp_path_factory, data):
    """To be read only, as other processes' tests have it too."""
    return built_once(
        tmp_path_factory, "toy_run", lambda out: train_once(data, out)
    )


@pytest.fixture(scope="session")
def other_run(tmp_path_factory, data):
    """Another seed, one epoch as well; to be read only, too."""
    return built_once(
        tmp_path_factory,
        "toy_other_run",
        lambda out: train_once(data, out, "--set=training.seed=9"),
    )


# Between the quick ones all that differs.
_QUICK = ("learned, gelu", "as Marian's", "as OpenNMT's")
each_configurable = pytest.mark.parametrize(
    "variant",
    [
        pytest.param(name, marks=() if name in _QUICK else pytest.mark.slow)
        for name in CONFIGURABLE
    ],
)


def call(*arguments, status=0):
    """Runs a command, which exits with a status."""
    assert main([str(a) for a in arguments]) == status


def train_once(data, out, *options):
    words = ["--data", data, "--out", out, "--epochs=1"]
    call("train", *words, *options, *TRAIN_OPTIONS)


@pytest.fixture(scope="session")
def toy(tmp_path_factory):
    """A run with random weights, to be read only."""
    return built_once(
        tmp_path_factory, "toy", lambda out: write_run(out, "pre")
    )


@pytest.fixture(scope="session")
def export(tmp_path_factory, run):
    """A model's folder with the version 1, to be read only."""

    def build(folder):
        base = folder / "toy"
        with pytest.MonkeyPatch.context() as patch:
            # The checks take long; those of tests/export run them.
            patch.setattr(saved_model, "check_in_fresh_process", lambda _: ())
            # So that long texts are truncated.
            call("export", "--run", run, "--out", base, "--sentences=keep")

    return built_once(tmp_path_factory, "toy_export", build) / "toy"


@pytest.fixture(scope="session")
def ct2_export(tmp_path_factory, toy):
    """For CTranslate2, checked in a fresh process; to be read only."""
    return built_once(
        tmp_path_factory,
        "ct2_export",
        lambda out: call(*ct2_words(toy, out)),
    )


def ct2_words(run, out):
    """The command that exports a run for CTranslate2."""
    return ["export", "--format=ctranslate2", "--run", run, "--out", out]


@pytest.fixture(scope="session")
def serve_by(serve):  # noqa: F811
    """Serves in this process, on free ports, as a command's words say."""

    def start(*words):
        arguments = build_parser().parse_args(["serve", *map(str, words)])
        command._check(arguments)
        options = vars(command.server_options(arguments))
        return serve(**{**options, "port": 0, "rest_port": 0})

    return start


@pytest.fixture
def untrained(monkeypatch):
    """`train` makes or opens its run, says so, and trains nothing."""
    monkeypatch.setattr(training, "_fit", lambda *_: None)
    monkeypatch.setattr(train, "best_epoch", lambda run: "")


@pytest.fixture
def write(tmp_path):
    """Writes a text, or lines, to a file of that name; returns its path."""

    def make(name, text):
        if not isinstance(text, str):
            text = "".join(f"{line}\n" for line in text)
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return make


@pytest.fixture
def succeed(capsys):
    """Runs a command that exits with 0; what it printed (`out`), and said."""

    def run(*arguments):
        capsys.readouterr()
        call(*arguments)
        return capsys.readouterr()

    return run


@pytest.fixture
def refuses(capsys):
    """Checks that a command exits with 2 and one line that says why."""

    def check(*arguments, says):
        capsys.readouterr()
        by_parser = False
        try:
            status = main([str(a) for a in arguments])
        except SystemExit as stop:
            status, by_parser = stop.code, True
        assert status == 2
        said = capsys.readouterr()
        *before, last = said.err.splitlines()
        assert re.match("keras-transformer[- a-zA-Z]*: error: ", last)
        assert len(last) < 1200  # All accepted keys may be listed.
        assert not (by_parser and before)
        assert "Traceback" not in said.err
        assert not said.out
        for part in says:
            assert str(part) in last
        return last

    return check


@pytest.fixture
def not_installed(monkeypatch):
    """Has a package look as if it weren't installed."""
    find = importlib.util.find_spec

    def remove(package):
        monkeypatch.setattr(
            importlib.util,
            "find_spec",
            lambda name, *rest: None if name == package else find(name, *rest),
        )

    return remove


@contextlib.contextmanager
def files_of_at_most(size):
    """No file of this process grows any larger: a full disk, as it were."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.MonkeyPatch.context() as patch:
        # What is imported now would stay behind, cut off.
        patch.setattr(sys, "dont_write_bytecode", True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def start(*arguments, limit_files=None, **options):
    """Starts the command line in a process of its own.

    Args:
        limit_files: that may be open at once. The process sets it for
            itself: code between fork and exec is not safe where other tests
            have left threads, such as gRPC's.
    """
    command = ["-m", "keras_transformer"]
    if limit_files:
        command = ["-c", LIMITED, str(limit_files)]
    return subprocess.Popen(
        [sys.executable, *command, *map(str, arguments)],
        stdin=options.pop("stdin", subprocess.DEVNULL),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        cwd=ROOT,
        **options,
    )


def read_prepared(folder):
    """Reads all of a folder of prepared data."""
    loaded = PreparedData.load(folder)
    for split in loaded.manifest["splits"]:
        loaded.lengths(split)
    loaded.verify()
    loaded.source_tokenizer.fingerprint()
