"""What a client sends again, how long it waits, and when it gives up."""

import pickle
import socket
import threading
import time

import grpc
import pytest

from keras_transformer.errors import InputError
from keras_transformer.serving import (
    Backoff,
    Client,
    DeadlineError,
    InvalidRequestError,
    OverloadedError,
    RequestError,
    ServerFailedError,
    UnavailableError,
)
from keras_transformer.serving.client.grpc_transport import GrpcTransport
from keras_transformer.serving.client.transport import Target, parse_target
from tests.serving.asking import free_ports
from tests.serving.scripted import ScriptedGrpc, ScriptedRest, good

QUICK = Backoff(first_seconds=0.01, longest_seconds=0.05, retries=3)
TEXT = {"text": ["a"]}


@pytest.fixture
def asked(closed):
    """Asks a scripted server with a client; both end with the test."""

    def ask(server, inputs=TEXT, **options):
        client = Client(closed(server).url, "m", backoff=QUICK, **options)
        return closed(client).predict(inputs)

    return ask


def fails(status, told="no", *headers):
    return lambda request: (status, {"error": told}, *headers)


@pytest.mark.parametrize("status", [429, 502, 503])
def test_what_may_pass_is_sent_again(asked, status):
    server = ScriptedRest(fails(status), fails(status), good)
    assert asked(server) == TEXT
    assert len(server.requests) == 3
    # On the connection that is there.
    assert server.connections == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidRequestError),
        (413, InvalidRequestError),
        (404, RequestError),
        (500, ServerFailedError),
        (501, ServerFailedError),
        (504, DeadlineError),
        (408, DeadlineError),
        (301, ServerFailedError),
    ],
)
def test_nothing_else_is(asked, status, kind):
    server = ScriptedRest(fails(status, "so it is"), good)
    with pytest.raises(kind, match=f"{status} .*: so it is") as raised:
        asked(server)
    assert raised.value.status == status
    assert len(server.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_names_its_location(asked, status):
    there = "https://a.example/v1/"
    server = ScriptedRest(fails(status, "moved", ("Location", there)))
    with pytest.raises(
        ServerFailedError, match=f"{status} .*: redirected to {there}: moved"
    ):
        asked(server)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("code", "attempts"),
    [("RESOURCE_EXHAUSTED", 2), ("UNAVAILABLE", 2)]
    + [
        (name, 1)
        for name in "INVALID_ARGUMENT NOT_FOUND INTERNAL UNKNOWN "
        "DEADLINE_EXCEEDED UNIMPLEMENTED FAILED_PRECONDITION".split()
    ],
)
def test_grpc_has_the_same_rule(asked, code, attempts):
    server = ScriptedGrpc([grpc.StatusCode[code]], None)
    if attempts == 2:
        assert asked(server) == TEXT
    else:
        with pytest.raises(RequestError, match=f"{code}: as scripted"):
            asked(server)
    assert len(server.requests) == attempts


def test_it_ends_after_so_many_retries(asked):
    server = ScriptedRest(fails(503, "queue full"))
    with pytest.raises(UnavailableError, match="503 UNAVAILABLE: queue full"):
        asked(server)
    assert len(server.requests) == 1 + QUICK.retries


def test_a_message_over_a_limit_is_not_sent_again(serve, asked):
    from keras_transformer.serving.server.admission import Limits

    server = serve(limits=Limits(max_request_bytes=1000))
    for url in (
        f"grpc://127.0.0.1:{server.port}",
        f"http://127.0.0.1:{server.rest_port}",
    ):
        client = Client(url, "toy", backoff=Backoff(5, 5, 5), timeout=20)
        began = time.monotonic()
        with client, pytest.raises(InvalidRequestError, match="larger than"):
            client.predict({"text": ["a" * 2000]})
        assert time.monotonic() - began < 5


def test_a_refusal_in_the_middle_of_a_large_request_is_read():
    asked = []

    def refuse(listening):
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection:
                asked.append(connection.recv(1000))
                body = b'{"error": "too large"}'
                head = b"HTTP/1.1 413 No\r\nContent-Length: %d\r\n\r\n"
                connection.sendall(head % len(body) + body)
                # As a server that reads no further, and waits for the client.
                connection.shutdown(socket.SHUT_WR)
                time.sleep(0.2)

    listening = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=refuse, args=[listening], daemon=True).start()
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    with listening, Client(url, "m", backoff=QUICK, timeout=20) as client:
        with pytest.raises(InvalidRequestError, match="413 .*: too large"):
            client.predict({"text": ["a" * 30_000_000]})
        listening.shutdown(socket.SHUT_RDWR)
    assert len(asked) == 1


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_a_wait_that_the_server_asks_for(asked, scheme):
    if scheme == "http":
        server = ScriptedRest(fails(503, "no", ("Retry-After", "1")), good)
    else:
        code = grpc.StatusCode.RESOURCE_EXHAUSTED
        pushback = ("grpc-retry-pushback-ms", "1000")
        server = ScriptedGrpc([code, pushback], None)
    assert asked(server) == TEXT
    (_, first), (_, second) = server.requests
    assert 0.9 < second - first < 3


def test_waits_double_up_to_the_longest():
    backoff = Backoff(0.1, 1.0)
    for attempt, most in enumerate([0.1, 0.2, 0.4, 0.8, 1.0, 1.0]):
        waits = [backoff.seconds(attempt) for _ in range(200)]
        assert most / 2 <= min(waits)
        assert max(waits) <= most
        assert max(waits) - min(waits) > most / 4
    assert backoff.seconds(5000) <= 1.0
    assert backoff.seconds(0, at_least=7.0) == 7.0
    with pytest.raises(InputError, match="must be 0 or more. Received: nan"):
        Backoff(first_seconds=float("nan"))
    with pytest.raises(InputError, match="retries must be 0 or more"):
        Backoff(retries=-1)


def test_the_deadline_is_for_the_whole_call(asked):
    def slow(request):
        time.sleep(0.2)
        return good(request)

    server = ScriptedRest(slow)
    began = time.monotonic()
    texts = {"text": [str(number) for number in range(100)]}
    with pytest.raises(DeadlineError, match="no answer before the deadline"):
        asked(server, texts, timeout=0.7, batch_size=1, in_flight=2)
    assert time.monotonic() - began < 2
    time.sleep(0.5)
    assert len(server.requests) < 12


def test_grpc_has_a_deadline():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"grpc://127.0.0.1:{silent.getsockname()[1]}"
        began = time.monotonic()
        with Client(url, "m", timeout=0.5) as client:
            with pytest.raises(RequestError):
                client.predict(TEXT)
        assert time.monotonic() - began < 3


@pytest.mark.parametrize(
    "head",
    [
        "",
        "HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n",
        "HTTP/1.0 200\r\n\r\n",
    ],
    ids=["head", "body", "until the connection ends"],
)
def test_an_answer_that_drips_does_not_outlast_the_deadline(head):
    """A byte in time each: no single read takes long."""
    stop = threading.Event()

    def drip(listening):
        connection, _ = listening.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(head.encode())
            for byte in b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n" * 9:
                if stop.wait(0.1):
                    return
                connection.sendall(bytes([byte]))

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=drip, args=[listening])
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        began = time.monotonic()
        try:
            with Client(url, "m", timeout=0.5) as client:
                with pytest.raises(DeadlineError):
                    client.predict(TEXT)
            assert time.monotonic() - began < 2
        finally:
            stop.set()
            thread.join()


def test_nobody_there_is_tried_again_until_somebody_is():
    (port,) = free_ports(1)
    for scheme in ("http", "grpc"):
        url = f"{scheme}://127.0.0.1:{port}"
        with Client(url, "m", backoff=QUICK) as client:
            with pytest.raises(UnavailableError, match="efused"):
                client.predict(TEXT)


def test_a_lost_connection_is_tried_again(asked):
    server = ScriptedRest(lambda request: None, good)
    assert asked(server) == TEXT
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("status", "answer", "says"),
    [
        *(
            (200, answer, "not an answer of TensorFlow Serving")
            for answer in (
                b"<html>",
                b"",
                b"[]",
                b'{"predictions": []}',
                b"\xff",
            )
        ),
        *(
            (200, {"outputs": {"text": rows}}, "doesn't have 1 rows")
            for rows in ([], ["a", "b"], "a")
        ),
        (520, b"<html>\n<h1>Bad" + b"x" * 5000, "520 UNKNOWN: <html> <h1>Bad"),
    ],
)
def test_answers_without_sense(asked, status, answer, says):
    server = ScriptedRest(lambda request: (status, answer))
    with pytest.raises(ServerFailedError, match=says):
        asked(server)


def test_errors_can_be_sent_to_another_process():
    error = OverloadedError(8, "no", "there", 429, 2.0)
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error) == "there: 429 RESOURCE_EXHAUSTED: no"
    assert copy.retry_after == 2.0


def test_grpc_takes_turns_among_the_addresses_of_a_name(closed, monkeypatch):
    """As of a headless service's."""
    servers = [closed(ScriptedGrpc(None)) for _ in range(3)]
    pods = ",".join(server.url.removeprefix("grpc://") for server in servers)
    monkeypatch.setattr(Target, "address", f"ipv4:{pods}")
    transport = closed(GrpcTransport(parse_target("grpc://pods", "toy")))

    def send():
        deadline = time.monotonic() + 20
        answer = transport.predict("", {"text": ["a"]}, deadline)
        assert answer == {"text": ["a"]}

    end = time.monotonic() + 20
    # Until all are connected, who is gets all.
    while not all(server.requests for server in servers):
        assert time.monotonic() < end
        send()
    before = [len(server.requests) for server in servers]
    for _ in range(30):
        send()
    after = [len(server.requests) for server in servers]
    assert [b - a for a, b in zip(before, after, strict=True)] == [10] * 3
    # One that goes leaves its part to the others.
    servers[0].close()
    for _ in range(20):
        send()
