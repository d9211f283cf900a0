"""`serve --engine ctranslate2`: the contract, and what is refused."""

import importlib.util
import json
import shutil
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from keras_transformer.contract.status import VersionState
from tests.cli.conftest import needs_serving, start
from tests.cli.test_ctranslate2 import (  # noqa: F401
    LINES,
    exported,
    guide_commands,
    translate,
    truncate,
)
from tests.serving.asking import ask, free_ports

pytestmark = [needs_serving, pytest.mark.usefixtures("xla_stays")]

SERVED = {"serving_default", "greedy", "nbest", "score", "tokenize"}
MODEL = "/v1/models/en-zh"


@pytest.fixture(scope="module")
def ports(exported):  # noqa: F811
    """Of REST and gRPC of the guide's command, in a process."""
    ((_, *words),) = [w for w in guide_commands() if w[0] == "serve"]
    assert words[-1] == "ctranslate2/en-zh"
    rest, rpc = free_ports(2)
    process = start(
        *("serve", *words[:-1], exported),
        *("--model_name=en-zh", "--enable_batching", "--no-access-log"),
        *("--rest_api_port", rest, "--port", rpc),
    )
    timer = threading.Timer(300, process.kill)
    timer.start()
    for line in process.stderr:
        if line.startswith("gRPC on"):
            break
    yield rest, rpc
    process.send_signal(signal.SIGTERM)
    process.communicate()
    timer.cancel()
    assert process.returncode == 0


@pytest.fixture(params=["http", "grpc"])
def client(request, ports):
    from keras_transformer.serving import Client

    port = ports[request.param == "grpc"]
    with Client(f"{request.param}://127.0.0.1:{port}", "en-zh") as made:
        yield made


@pytest.fixture
def expected(exported, translate):  # noqa: F811
    """What `translate --ctranslate2` says, as JSON, a line for each text."""

    def ask_for(*options):
        words = ["--ctranslate2", exported, "--json", *options]
        return [json.loads(line) for line in translate(*words)]

    return ask_for


def best_of(rows):
    """Translations and scores, the best of each line."""
    found = [row["translations"][0] for row in rows]
    return [one["text"] for one in found], pytest.approx(
        [one["score"] for one in found], abs=1e-4
    )


def test_translations_are_those_of_translate(client, expected):
    texts, scores = best_of(expected())
    truncated = [row["truncated"] for row in expected()]
    assert client.translate(LINES) == (texts, scores, truncated)
    assert truncated[3]
    texts, scores = best_of(expected("--beam-size=1"))
    outputs = client.predict({"text": LINES}, "greedy")
    assert outputs["translation"] == texts
    assert outputs["score"] == scores


def test_n_best_are_those_of_translate(client, expected):
    rows = [row["translations"] for row in expected("--n-best=4")]
    texts, scores, _ = client.nbest(LINES)
    for i, hypotheses in enumerate(rows):
        ours = list(zip(texts[i], scores[i], strict=True))[: len(hypotheses)]
        for (text, score), one in zip(ours, hypotheses, strict=True):
            assert text == one["text"]
            assert score == pytest.approx(one["score"], abs=1e-4)
    assert texts[1] == [""] * 4
    assert scores[1] == [0.0, -1e9, -1e9, -1e9]


def test_scores_are_those_of_its_translations(client):
    lines = [LINES[0], LINES[4], LINES[6]]
    texts, _, _ = client.translate(lines)
    outputs = client.score(lines, texts)
    assert outputs["tokens"] == [len(text) + 1 for text in texts]
    # END is part of it, even where the search ended at its limit.
    assert all(value < 0 for value in outputs["log_probability"])
    normalized = [
        total / count
        for total, count in zip(
            outputs["log_probability"], outputs["tokens"], strict=True
        )
    ]
    assert outputs["score"] == pytest.approx(normalized, rel=1e-5)
    long = client.score(["aaa"], ["a" * 60])
    assert long["translation_truncated"] == [True]
    assert long["tokens"] == [40]


@pytest.mark.parametrize(("texts", "translations"), [(1, 3), (3, 1), (2, 3)])
def test_other_than_one_translation_a_text_is_refused(
    exported,  # noqa: F811
    texts,
    translations,
):
    from keras_transformer.contract.status import ServingError
    from keras_transformer.exporting.ctranslate2_session import (
        CTranslate2Session,
    )

    session = CTranslate2Session(exported)
    given = {"text": [b"aaa"] * texts, "translation": [b"a"] * translations}
    words = f"one translation for each text.*: {texts} {translations}$"
    try:
        with pytest.raises(ServingError, match=words) as raised:
            session.run("score", given)
    finally:
        session.close()
    assert raised.value.http_status == 400


def test_ids_are_those_of_the_tokenizer(client, toy):
    from keras_transformer.text.tokenizer import load_tokenizer

    ids = load_tokenizer(toy / "source_tokenizer").tokenize(LINES).to_list()
    assert client.tokenize(LINES) == ids


def test_what_it_lacks_is_neither_told_nor_answered(ports):
    host = f"127.0.0.1:{ports[0]}"
    metadata = json.loads(ask(host, f"{MODEL}/metadata").body)["metadata"]
    signatures = metadata["signature_def"]["signature_def"]
    assert signatures.keys() == SERVED
    nbest = signatures["nbest"]
    assert nbest["inputs"]["text"]["dtype"] == "DT_STRING"
    sizes = nbest["outputs"]["scores"]["tensor_shape"]["dim"]
    assert [size["size"] for size in sizes] == ["-1", "-1"]
    body = {"signature_name": "align", "instances": ["aaa"]}
    answer = ask(host, f"{MODEL}:predict", json.dumps(body).encode())
    assert answer.status == 400
    assert '"align" not found' in json.loads(answer.body)["error"]
    wrong = b'{"instances": [1]}'
    assert ask(host, f"{MODEL}:predict", wrong).status == 400


@pytest.mark.parametrize("name", sorted(SERVED - {"score"}))
def test_no_rows_have_no_outputs(name, ports):
    body = json.dumps({"signature_name": name, "inputs": []}).encode()
    answer = ask(f"127.0.0.1:{ports[0]}", f"{MODEL}:predict", body)
    assert answer.status == 200, answer.body
    outputs = json.loads(answer.body)["outputs"]
    assert outputs
    assert not any(outputs.values())


def test_status_page_and_text_that_is_no_utf_8(ports):
    host = f"127.0.0.1:{ports[0]}"
    (row,) = json.loads(ask(host, MODEL).body)["model_version_status"]
    assert (row["version"], row["state"]) == ("1", "AVAILABLE")
    page = ask(host, "/")
    assert page.status == 200
    assert b"<html" in page.body
    headers = {"X-Requested-With": "keras-transformer"}
    models = ask(host, "/assets/models.json", headers=headers).body
    served = {"models": ["en-zh"], "languages": {"en-zh": ["en", "zh"]}}
    assert json.loads(models) == served
    body = b'{"instances": [{"b64": "/w=="}, "aaa"]}'
    answer = ask(host, f"{MODEL}:predict", body)
    assert answer.status == 200
    assert len(json.loads(answer.body)["predictions"]) == 2


def test_many_at_once_get_their_own_answers(ports, client):
    texts, scores, _ = client.translate(LINES)
    host = f"127.0.0.1:{ports[0]}"

    def answer(i):
        body = json.dumps({"instances": [LINES[i]]}).encode()
        (row,) = json.loads(ask(host, f"{MODEL}:predict", body).body)[
            "predictions"
        ]
        return row["translation"], row["score"]

    numbers = [*range(len(LINES))] * 8
    with ThreadPoolExecutor(16) as pool:
        for i, (text, score) in zip(
            numbers, pool.map(answer, numbers), strict=True
        ):
            assert text == texts[i]
            assert score == pytest.approx(scores[i], abs=1e-4)


# Versions.


def copy_to(folder, exported):  # noqa: F811
    """As `export` publishes: complete from the first moment."""
    hidden = folder.parent / ".copy"
    shutil.copytree(exported, hidden)
    hidden.rename(folder)


@pytest.fixture
def served(tmp_path):
    """A server of versions in a folder, in this process."""
    from keras_transformer.serving.server.config_files import ModelConfig
    from keras_transformer.serving.server.server import Server, ServerOptions

    base = tmp_path / "en-zh"
    base.mkdir()
    started = []

    def serve():
        server = Server(
            ServerOptions(
                models=(ModelConfig("en-zh", base),),
                port=None,
                rest_port=0,
                poll_seconds=0.1,
                access_log=False,
                engine="ctranslate2",
            )
        )
        server.start()
        started.append(server)
        return server

    yield base, serve
    for server in started:
        server.stop(1)


def wait_for(store, version, state):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        states = {row[0]: row for row in store.states("en-zh")}
        if version in states and states[version][1] is state:
            return states[version][2]
        time.sleep(0.05)
    raise AssertionError(store.states("en-zh"))


def test_new_versions_are_picked_up(served, exported):  # noqa: F811
    base, serve = served
    copy_to(base / "1", exported)
    store = serve().core.store
    assert store.acquire("en-zh").servable.version == 1
    # What is damaged waits for its repair, and the old one stays.
    broken = shutil.copytree(exported, base / ".broken")
    truncate(broken)
    broken.rename(base / "2")
    error = wait_for(store, 2, VersionState.END)
    assert "model.bin: damaged" in error.message
    wait_for(store, 1, VersionState.AVAILABLE)
    shutil.copyfile(exported / "model.bin", base / "2" / "model.bin")
    assert wait_for(store, 2, VersionState.AVAILABLE) is None
    assert store.acquire("en-zh").servable.version == 2


# What is refused.


def test_a_folder_without_an_export_is_refused(tmp_path, refuses):
    refuses(
        *("serve", "--engine=ctranslate2", "--model_base_path", tmp_path),
        *("--rest_api_port=0", "--port", *free_ports(1)),
        says=["no version of", "`export --format ctranslate2`"],
    )


@pytest.mark.parametrize("name", [".", "1"])
def test_a_saved_model_is_for_another_engine(name, tmp_path, refuses):
    (tmp_path / name).mkdir(exist_ok=True)
    (tmp_path / name / "saved_model.pb").touch()
    refuses(
        *("serve", "--engine=ctranslate2", "--model_base_path", tmp_path),
        says=[tmp_path / name, "a SavedModel", "--engine embedded"],
    )


@pytest.mark.parametrize("name", [".", "1"])
def test_the_other_engine_tells_of_ctranslate2(
    name,
    exported,  # noqa: F811
    tmp_path,
    refuses,
):
    base = exported
    if name != ".":
        base = tmp_path
        shutil.copytree(exported, base / name)
    refuses(
        *("serve", "--model_base_path", base),
        says=[base / name, "for CTranslate2", "--engine ctranslate2"],
    )


def test_models_of_a_file_are_checked_too(
    exported,  # noqa: F811
    tmp_path,
    refuses,
):
    config = tmp_path / "models.config"
    config.write_text(
        'model_config_list { config { name: "en-zh" base_path: '
        f'"{exported}" model_platform: "tensorflow" }} }}'
    )
    refuses(
        *("serve", "--engine=embedded", "--model_config_file", config),
        *("--rest_api_port=0", "--port", *free_ports(1)),
        says=["for CTranslate2", "--engine ctranslate2"],
    )


def test_a_missing_package_is_told(
    exported,  # noqa: F811
    monkeypatch,
    refuses,
):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name: None if name == "ctranslate2" else find(name),
    )
    refuses(
        *("serve", "--engine=ctranslate2", "--model_base_path", exported),
        says=["pip install '.[ctranslate2]'"],
    )
