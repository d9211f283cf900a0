"""`translate --server`, and the client, against the toy export."""

import functools

import pytest

import keras_transformer as kt
from keras_transformer.errors import InputError
from keras_transformer.serving.client.client import Client
from keras_transformer.serving.client.remote_translator import RemoteTranslator
from tests.cli.conftest import call, needs_serving
from tests.processes import run_python

pytestmark = needs_serving
WORDS = ("zero", "one", "two", "three", "four", "five")
LINES = [" ".join(WORDS[: i % 6]) for i in range(150)]


@pytest.fixture(scope="module")
def server(export, serve):
    from keras_transformer.serving.server.config_files import ModelConfig

    config = ModelConfig("toy", export, labels=(("stable", 1),))
    return serve(models=(config,))


@pytest.fixture(params=["http", pytest.param("grpc", marks=pytest.mark.medium)])
def url(request, server):
    port = server.rest_port if request.param == "http" else server.port
    return f"{request.param}://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("lines") / "in.txt"
    path.write_text("".join(f"{line}\n" for line in LINES))
    return path


def test_run_export_and_server_translate_by_one_contract(run, export, url):
    texts = ["one two", "", "three four five"]
    loaded = [kt.load(run), kt.load(export)]
    if url.startswith("http"):
        loaded.append(kt.load(f"{url}/v1/models/toy"))
    loaded.append(kt.load(url, model="toy", label="stable"))
    expected = loaded[0].translate(texts)
    best = loaded[0].translate(texts[0], n_best=2)
    assert best[0] == expected[0]
    for translator in loaded:
        assert translator.translate(texts) == expected, translator
        assert translator.translate(texts[0]) == expected[0]
        assert translator.translate(texts[0], n_best=2) == best
        assert translator.translate(texts[:1], n_best=2) == [best]
        assert translator.translate([]) == []
        result = translator.translate(texts[0], details=True)
        assert result.hypotheses[0].text == expected[0]
        assert not result.truncated
        assert " at 0x" not in repr(translator)
        with pytest.raises(InputError, match="n.best"):
            translator.translate(texts[0], n_best=9)


@pytest.mark.medium
def test_every_way_warns_once_of_truncated_texts(run, export, url):
    texts = ["one two", "", "three " * 200, "four " * 300]
    keep = kt.DecodingConfig(sentences="keep")
    for translator in (
        kt.load(run, decoding=keep),
        kt.load(export),
        kt.load(url, model="toy"),
    ):
        for options in ({}, {"n_best": 2}, {"details": True}):
            with pytest.warns(UserWarning, match="truncated") as caught:
                translator.translate(texts, **options)
            (warning,) = (w for w in caught if "truncated" in str(w.message))
            said = str(warning.message)
            assert said.startswith("2 truncated texts (number 3, 4): ")
            assert warning.filename == __file__
    with Client(url, "toy") as client:
        for translate in (client.translate, client.nbest):
            with pytest.warns(UserWarning, match="2 truncated texts") as caught:
                truncated = translate(texts)[2]
            assert truncated == [False, False, True, True]
            assert caught[0].filename == __file__


@pytest.fixture(scope="module")
def from_export(export, tmp_path_factory):
    """What the export gives by itself, each once: loading takes long."""
    out = tmp_path_factory.mktemp("export") / "out.txt"

    @functools.cache
    def translate(source, *options):
        words = ["--input", source, "--output", out, "--workers=1", *options]
        call("translate", "--saved-model", export, "--scores", *words)
        return [line.split("\t") for line in out.read_text().splitlines()]

    return translate


@pytest.mark.medium
@pytest.mark.parametrize(
    ("options", "more"),
    [
        ([], ["--batch-size=7"]),
        pytest.param(
            ["--beam-size=1"], ["--label=stable"], marks=pytest.mark.slow
        ),
        (["--n-best=2"], ["--version=1"]),
    ],
    ids=["batches", "greedy", "n-best"],
)
def test_as_from_the_export_itself(
    from_export, url, source, succeed, options, more
):
    there = ["--server", url, "--model", "toy", "--scores", *more]
    out = succeed("translate", *there, "--input", source, *options).out
    found = [line.split("\t") for line in out.splitlines()]
    expected = from_export(source, *options)
    assert [row[:-1] for row in found] == [row[:-1] for row in expected]
    assert [float(row[-1]) for row in found] == pytest.approx(
        [float(row[-1]) for row in expected], abs=2e-4
    )


WITHOUT_TENSORFLOW = """
import sys
from keras_transformer.cli.main import main
status = main(["translate", "--server", *sys.argv[1:]])
heavy = {"tensorflow", "keras"} & set(sys.modules)
sys.exit(f"imported: {heavy}" if heavy else status)
"""


def test_without_tensorflow(url, source):
    words = [f"{url}/v1/models/toy", "--input", source]
    done = run_python("-c", WITHOUT_TENSORFLOW, *words)
    assert len(done.stdout.splitlines()) == len(LINES)


@pytest.mark.parametrize(("interactive", "most"), [(False, 6), (True, 1)])
def test_as_little_as_possible_is_read_ahead(url, interactive, most):
    """Five requests; or, for a person, no line before the last is answered."""
    read = []

    def batches():
        for number in range(20):
            read.append(number)
            yield ["one two"] if number % 4 else []

    translator = RemoteTranslator(url, "toy", None, None, 60.0)
    with translator.opened(interactive=interactive) as translate_batches:
        for number, results in enumerate(translate_batches(batches())):
            assert len(results) == bool(number % 4)
            assert len(read) <= number + most
    assert len(read) == 20


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--model=none"], ["model none", "NOT_FOUND", "none"]),
        (["--model=toy", "--label=x"], ["label x", "INVALID_ARGUMENT"]),
        (["--model=toy", "--n-best=9"], ["1 to 4, the beam size", "9"]),
        (["--model=toy", "--version=1", "--label=x"], ["either a version"]),
        (
            ["--server=http://127.0.0.1:1"],
            ["http://127.0.0.1:1", "UNAVAILABLE", "refused"],
        ),
    ],
    ids=lambda value: " ".join(value),
)
def test_what_the_server_refuses(refuses, url, source, options, says):
    command = ["translate", "--server", url, "--input", source, *options]
    refuses(*command, says=says)
