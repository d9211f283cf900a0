"""`serve --engine ctranslate2`: the contract, and what is refused."""

import json
import shutil
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from keras_transformer.contract.status import VersionState
from tests.cli.conftest import needs_serving
from tests.cli.test_ctranslate2 import LINES, guide_commands, truncate
from tests.serving.asking import ask, free_ports, wait_for

pytestmark = [
    needs_serving,
    pytest.mark.medium,
    pytest.mark.usefixtures("xla_stays"),
]

SERVED = {"serving_default", "greedy", "nbest", "score", "tokenize"}
MODEL = "/v1/models/en-zh"


@pytest.fixture(scope="module")
def ports(ct2_export, serve_by):
    """Of REST and gRPC, by the guide's command."""
    ((_, *words),) = [w for w in guide_commands() if w[0] == "serve"]
    assert words[-1] == "ctranslate2/en-zh"
    options = ["--model_name=en-zh", "--enable_batching", "--no-access-log"]
    server = serve_by(*words[:-1], ct2_export, *options)
    return server.rest_port, server.port


@pytest.mark.medium
def test_the_command_serves_and_ends_well(ct2_export):
    from tests.attack.served import Served

    options = ["--model_name=en-zh", "--enable_batching"]
    with Served(
        "--engine=ctranslate2", "--model_base_path", ct2_export, *options
    ) as server:
        answer = ask(
            f"127.0.0.1:{server.rest_port}",
            f"{MODEL}:predict",
            b'{"instances": ["aaa"]}',
        )
        assert answer.status == 200, answer.body
    assert server.process.returncode == 0


@pytest.fixture(params=["http", "grpc"])
def client(request, ports):
    from keras_transformer.serving import Client

    port = ports[request.param == "grpc"]
    with Client(f"{request.param}://127.0.0.1:{port}", "en-zh") as made:
        yield made


@pytest.fixture
def expected(ct2_export, write, succeed):
    """What `translate --ctranslate2` says, as JSON, a line for each text."""

    def ask_for(*options):
        words = ["--ctranslate2", ct2_export, "--json", "--workers=1", *options]
        out = succeed("translate", *words, "--input", write("in", LINES)).out
        return [json.loads(line) for line in out.splitlines()]

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
    means = np.divide(outputs["log_probability"], outputs["tokens"])
    assert outputs["score"] == pytest.approx(means, rel=1e-5)
    long = client.score(["aaa"], ["a" * 60])
    assert long["translation_truncated"] == [True]
    assert long["tokens"] == [40]


def test_other_than_one_translation_a_text_is_refused(ct2_export):
    from keras_transformer.contract.status import ServingError
    from keras_transformer.exporting.ctranslate2_session import (
        CTranslate2Session,
    )

    session = CTranslate2Session(ct2_export)
    for texts, translations in ((1, 3), (3, 1), (2, 3)):
        given = {"text": [b"aaa"] * texts, "translation": [b"a"] * translations}
        words = f"one translation for each text.*: {texts} {translations}$"
        with pytest.raises(ServingError, match=words) as raised:
            session.run("score", given)
        assert raised.value.http_status == 400
    session.close()


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


def predicted(ports, body):
    """What the server answers."""
    answer = ask(f"127.0.0.1:{ports[0]}", f"{MODEL}:predict", body)
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


@pytest.mark.parametrize("name", sorted(SERVED - {"score"}))
def test_no_rows_have_no_outputs(name, ports):
    body = json.dumps({"signature_name": name, "inputs": []}).encode()
    outputs = predicted(ports, body)["outputs"]
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
    assert len(predicted(ports, body)["predictions"]) == 2


def test_many_at_once_get_their_own_answers(ports, client):
    texts, scores, _ = client.translate(LINES)

    def answer(i):
        body = json.dumps({"instances": [LINES[i]]}).encode()
        (row,) = predicted(ports, body)["predictions"]
        return row["translation"], row["score"]

    numbers = [*range(len(LINES))] * 8
    with ThreadPoolExecutor(16) as pool:
        for i, (text, score) in zip(
            numbers, pool.map(answer, numbers), strict=True
        ):
            assert text == texts[i]
            assert score == pytest.approx(scores[i], abs=1e-4)


# Versions.


def test_new_versions_are_picked_up(ct2_export, serve, tmp_path):
    from keras_transformer.serving.server.config_files import ModelConfig

    def state(version):
        states = {row[0]: row[1:] for row in store.states("en-zh")}
        return states.get(version, (None, None))

    base = tmp_path / "en-zh"
    shutil.copytree(ct2_export, base / "1")
    store = serve(
        models=(ModelConfig("en-zh", base),),
        port=None,
        poll_seconds=0.1,
        engine="ctranslate2",
    ).core.store
    assert store.acquire("en-zh").servable.version == 1
    # What is damaged waits for its repair, and the old one stays.
    broken = shutil.copytree(ct2_export, base / ".broken")
    truncate(broken)
    broken.rename(base / "2")
    wait_for(lambda: state(2)[0] is VersionState.END)
    assert "model.bin: damaged" in state(2)[1].message
    assert state(1)[0] is VersionState.AVAILABLE
    shutil.copyfile(ct2_export / "model.bin", base / "2" / "model.bin")
    wait_for(lambda: state(2) == (VersionState.AVAILABLE, None))
    assert store.acquire("en-zh").servable.version == 2


# What is refused.


def test_a_folder_without_an_export_is_refused(tmp_path, refuses):
    refuses(
        *("serve", "--engine=ctranslate2", "--model_base_path", tmp_path),
        *("--rest_api_port=0", "--port", *free_ports(1)),
        says=["no version of", "`export --format ctranslate2`"],
    )


@pytest.mark.parametrize("name", [".", "1"])
def test_models_of_the_other_engine_are_refused(
    name, ct2_export, tmp_path, refuses
):
    saved, other = tmp_path / "saved", tmp_path / "other"
    (saved / name).mkdir(parents=True)
    (saved / name / "saved_model.pb").touch()
    refuses(
        *("serve", "--engine=ctranslate2", "--model_base_path", saved),
        says=[saved / name, "a SavedModel", "--engine embedded"],
    )
    shutil.copytree(ct2_export, other / name)
    says = [other / name, "for CTranslate2", "--engine ctranslate2"]
    refuses("serve", "--model_base_path", other, says=says)
    # Those of a file, too.
    config = tmp_path / "models.config"
    config.write_text(
        'model_config_list { config { name: "en-zh" base_path: '
        f'"{other}" model_platform: "tensorflow" }} }}'
    )
    refuses(
        *("serve", "--engine=embedded", "--model_config_file", config),
        *("--rest_api_port=0", "--port", *free_ports(1)),
        says=says[1:],
    )


def test_a_missing_package_is_told(ct2_export, not_installed, refuses):
    not_installed("ctranslate2")
    refuses(
        *("serve", "--engine=ctranslate2", "--model_base_path", ct2_export),
        says=["pip install '.[ctranslate2]'"],
    )
