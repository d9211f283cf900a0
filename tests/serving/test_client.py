"""The client against the embedded server, over both protocols."""

import concurrent.futures
import re
import sys
import threading
import time

import pytest

from keras_transformer.errors import InputError
from keras_transformer.serving import (
    Backoff,
    Client,
    InvalidRequestError,
    NotFoundError,
    ServerFailedError,
)
from keras_transformer.serving.server.admission import Limits
from keras_transformer.serving.server.config_files import BatchingParameters
from tests.serving.asking import PREDICT, ask, spin

TEXTS = ["a", "", "狗 barks", "x" * 300, "two\nlines", '"', "\x00"]


def url_of(server, scheme):
    port = server.rest_port if scheme == "http" else server.port
    return f"{scheme}://127.0.0.1:{port}"


@pytest.fixture(params=["http", "grpc"])
def client(request, server, closed):
    """Makes clients of the server."""
    url = url_of(server, request.param)
    return lambda model="toy", **options: closed(Client(url, model, **options))


def test_all_types_of_outputs(client):
    outputs = client().predict({"text": TEXTS[:3]}, "length")
    assert outputs["length"] == [1, 0, 9]
    assert outputs["half"] == [0.5, 0.0, 4.5]
    assert outputs["is_empty"] == [False, True, False]


@pytest.mark.parametrize("batch_size", [1, 3, 7, 100])
def test_order_is_kept_over_many_requests(client, batch_size):
    texts = [f"{text} {number}" for number in range(20) for text in TEXTS]
    found = client(batch_size=batch_size).predict({"text": texts})
    # TensorFlow's upper() of bytes.
    assert found == {"translation": [t.upper() for t in texts]}


def test_what_utf_8_cannot_say_is_replaced(client):
    found = client().predict({"text": ["a\udcff"]})
    assert found == {"translation": ["A?"]}


def test_versions_and_labels(client):
    (latest,) = client().predict({"text": ["a"]})["translation"]
    (first,) = client(version=1).predict({"text": ["a"]})["translation"]
    (stable,) = client(label="stable").predict({"text": ["a"]})["translation"]
    assert (latest, first, stable) == ("A", "one A", "one A")
    assert client().versions() == [(2, "AVAILABLE", ""), (1, "AVAILABLE", "")]
    assert [row.version for row in client(version=1).versions()] == [1]
    # Without texts there is no request.
    assert client(model="nothing").tokenize([]) == []
    assert client(model="nothing").translate([]) == ([], [], [])


@pytest.mark.parametrize(
    ("options", "signature", "kind", "says"),
    [
        ({"model": "none"}, "", NotFoundError, "Servable not found"),
        ({"version": 9}, "", NotFoundError, "Specific(toy, 9)"),
        ({"label": "no"}, "", InvalidRequestError, "version label: no"),
        ({}, "none", InvalidRequestError, '"none" not found'),
        ({}, "number", InvalidRequestError, "'a'|StringToNumber"),
        ({}, "add", InvalidRequestError, "x"),
    ],
    ids=["model", "version", "label", "signature", "value", "inputs"],
)
def test_errors_say_what_the_server_answered(
    client, options, signature, kind, says
):
    one = client(**options)
    with pytest.raises(kind) as raised:
        one.predict({"text": ["a"]}, signature or "serving_default")
    assert any(part in str(raised.value) for part in says.split("|"))
    assert str(one.target) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_model_that_does_not_translate(client):
    with pytest.raises(ServerFailedError, match="no output score; it has"):
        client().translate(["a"])


def test_many_threads_share_a_client(client):
    one = client(in_flight=3, batch_size=2)
    texts = [
        [f"{number} {place}" for place in range(7)] for number in range(12)
    ]
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        found = pool.map(lambda some: one.predict({"text": some}), texts)
        assert [row["translation"] for row in found] == texts


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_a_busy_server_answers_everything_in_the_end(serve, scheme):
    """Queues that are too short: 503 and 429, and then another attempt."""
    tight = serve(
        batching=True,
        limits=Limits(max_requests=4),
        parameters=BatchingParameters(2, 0, 1, 1),
    )
    # The one worker is busy at first.
    busy = threading.Thread(target=ask, args=[tight, PREDICT, spin(50_000)])
    busy.start()
    while not tight.core.store.in_flight():
        time.sleep(0.001)
    texts = [str(number) for number in range(60)]
    url, patient = url_of(tight, scheme), Backoff(retries=1000)
    options = {"batch_size": 1, "in_flight": 12, "backoff": patient}
    with Client(url, "toy", **options) as one:
        assert one.predict({"text": texts})["translation"] == texts
    busy.join()
    page = tight.core.metrics.page()
    assert re.search("request_count.*(UNAVAILABLE|RESOURCE_EXHAUSTED)", page)


def test_without_grpcio_the_user_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(InputError, match="grpcio.*pip install.*http://"):
        Client("grpc://127.0.0.1:1", "toy")


def test_no_proxy_is_asked(client, monkeypatch):
    for name in ("no_proxy", "NO_PROXY", "no_grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
    for name in ("http_proxy", "grpc_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    one = client(backoff=Backoff(retries=0))
    assert one.predict({"text": ["狗"]})["translation"] == ["狗"]


def test_what_no_client_is_made_of():
    no_url = "is not a server's URL.*Accepted: http://"
    for url, says in (
        *(("localhost:8501", no_url), ("ftp://a", no_url), ("http://", no_url)),
        *(("http://a?b=c", no_url), ("http://me:secret@a", no_url)),
        ("http://a b", "http://a b:8501, model toy: .*invalid character"),
        ("http://a:b", "Port.*Accepted: http://"),
        ("http://a:99999", "Port.*Accepted: http://"),
        ("grpc://a/b", "gRPC has no path.*Accepted: http://"),
    ):
        with pytest.raises(InputError, match=says):
            Client(url, "toy")
    with pytest.raises(InputError, match="version 1 and label 'a'"):
        Client("http://a", "toy", version=1, label="a")
    for name in ("batch_size", "in_flight", "timeout"):
        with pytest.raises(InputError, match=name):
            Client("http://a", "toy", **{name: 0})
    with pytest.raises(InputError, match="timeout must be .* finite"):
        Client("http://a", "toy").translate(["a"], timeout=float("inf"))


def test_inputs_that_are_no_lists_of_texts(client):
    for inputs, says in (
        ({"text": ["a"], "more": ["a", "b"]}, "text 1, more 2"),
        ({"text": "Hi."}, r"list of texts here, not one.*\['Hi\.'\]"),
        ({"text": [b"Hi."]}, "not bytes.*decode"),
    ):
        with pytest.raises(InputError, match=says):
            client().predict(inputs)


def test_usual_ports():
    for url, address in (
        ("http://a", "http://a:8501"),
        ("https://a/nmt/", "https://a:443/nmt"),
        ("grpc://[::1]", "grpc://[::1]:8500"),
    ):
        with Client(url, "m", label="l") as one:
            assert str(one.target) == f"{address}, model m label l"


def test_a_name_of_any_characters_is_asked_for(client):
    with pytest.raises(NotFoundError, match="狗/a b"):
        client(model="狗/a b").predict({"text": ["a"]})


def test_a_closed_client(client):
    one = client()
    one.predict({"text": ["a"]})
    one.close()
    with pytest.raises(InputError, match="model toy: the client is closed"):
        one.predict({"text": ["a"]})
