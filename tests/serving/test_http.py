"""HTTP itself: what is no request, what is too much, and what takes long."""

import contextlib
import gc
import json
import socket
import struct
import time
import weakref

import pytest

from keras_transformer.serving.server import http_protocol
from keras_transformer.serving.server import server as module
from keras_transformer.serving.server.admission import Limits
from tests.serving.asking import (
    ONE,
    PREDICT,
    ask,
    connect,
    post,
    request,
    wait_for,
)

SECONDS = 0.5
LIMIT = 2000
STATUS = "/v1/models/toy"
ALIVE = request("GET", STATUS)


@pytest.fixture(scope="module")
def server(serve):
    limits = Limits(
        receive_seconds=SECONDS, max_request_bytes=LIMIT, max_requests=2
    )
    return serve(port=None, limits=limits)


@pytest.fixture
def log(server, monkeypatch):
    """The entries of the server's log."""
    entries = []
    monkeypatch.setattr(server.core.log, "write", entries.append)
    return entries


def read_all(connection):
    """What comes until the server hangs up."""
    answer = b""
    while part := connection.recv(65536):
        answer += part
    return answer


def read_until(connection, is_enough):
    """What comes until it is enough."""
    data = b""
    while not is_enough(data):
        part = connection.recv(65536)
        assert part, data
        data += part
    return data


def read_answer(connection):
    """One answer: its head, and its body as JSON, None if there is none."""
    data = read_until(connection, lambda data: b"\r\n\r\n" in data)
    head, _, body = data.partition(b"\r\n\r\n")
    fields = dict(
        line.lower().split(": ", 1) for line in head.decode().splitlines()[1:]
    )
    length = int(fields.get("content-length", 0))
    while len(body) < length:
        body += connection.recv(65536)
    return head.decode(), json.loads(body) if body else None


# What is no request.

CHUNKED = b"14\r\n" + ONE + b"\r\n0\r\n\r\n"
TWO_LENGTHS = "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"


@pytest.mark.parametrize(
    ("data", "status", "says"),
    [
        (
            request("POST", PREDICT, more=TWO_LENGTHS) + CHUNKED,
            *(400, "Content-Length together with Transfer-Encoding"),
        ),
        (
            b"POST /v1/models/toy:predict HTTP/1.0\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n" + CHUNKED,
            *(400, "Transfer-Encoding in HTTP/1.0"),
        ),
        (
            request("POST", PREDICT, more="Transfer-Encoding: gzip\r\n"),
            *(501, "Only Transfer-Encoding: chunked is supported"),
        ),
        (b"GET /v1/models/t\xc3\xb6y HTTP/1.1\r\nHost: x\r\n\r\n", 400, ""),
        (b"GET / HTTP/1.1\r\n\r\n", 400, "Missing mandatory Host: header"),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * 2**17, 431, ""),
        (
            b"GET / HTTP/1.1\r\nHost: x\r\n" + b"a:b\r\n" * 100 + b"\r\n",
            *(431, "More than 100 lines in a head"),
        ),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n", 400, ""),
    ],
    ids="lengths 1.0 gzip ascii host long lines tls".split(),
)
def test_what_is_no_http_is_refused_told_and_logged(
    server, log, data, status, says
):
    with connect(server) as connection:
        # What follows is never taken for a request.
        connection.sendall(data + ALIVE)
        head, body = read_answer(connection)
        assert read_all(connection) == b""
    assert head.startswith(f"HTTP/1.1 {status} ")
    assert "content-type: application/json" in head.lower()
    assert "connection: close" in head.lower()
    assert body["error"].startswith(f"Malformed HTTP: {says}")
    (entry,) = log
    assert entry.status == status
    assert entry.error == body["error"]
    assert entry.bytes_out > 0
    assert entry.peer == "127.0.0.1"


def test_many_lines_of_many_requests_are_few_in_each(server):
    with connect(server) as connection:
        more = "a: b\r\n" * 90
        connection.sendall(request("GET", STATUS, more=more) * 20 + ALIVE)
        read_until(connection, lambda a: a.count(b"HTTP/1.1 200 ") == 21)


@pytest.mark.parametrize("method", ["HEAD", "POST"])
@pytest.mark.parametrize("target", [STATUS, PREDICT])
@pytest.mark.parametrize("pause", [None, 0.0, 0.05])
def test_a_broken_chunk_is_answered_once(
    server, log, capfd, caplog, method, target, pause
):
    """Whether it comes with the head, beside the answer, or after it."""
    more = "Transfer-Encoding: chunked\r\nExpect: 100-continue\r\n"
    head = request(method, target, more=more)
    with connect(server) as connection:
        parts = [head, b"zz\r\nabc\r\n0\r\n\r\n" + ALIVE]
        if pause is None:
            parts = [b"".join(parts)]
        for part in parts:
            connection.sendall(part)
            time.sleep(pause or 0.0)
        answer = read_all(connection)
    answer = answer.removeprefix(b"HTTP/1.1 100 Continue\r\n\r\n")
    assert answer.count(b"HTTP/1.1 ") == 1
    if (method, target) == ("POST", PREDICT):
        assert answer.startswith(b"HTTP/1.1 400 ")
    if method == "HEAD":
        assert answer.endswith(b"\r\n\r\n")
    said = capfd.readouterr().err + caplog.text
    assert "Traceback" not in said
    assert "can't handle event" not in said
    wait_for(lambda: log)
    # What breaks off after the answer is logged by itself.
    first, *others = [entry.status for entry in log]
    assert first == int(answer.split()[1])
    assert others in ([], [400])


# Targets and methods.


@pytest.mark.parametrize(
    ("method", "target", "status", "says"),
    [
        ("CONNECT", "localhost:80", 501, "CONNECT is not implemented"),
        ("TRACE", STATUS, 501, "TRACE is not implemented"),
        ("BREW", STATUS, 501, "BREW is not implemented"),
        ("get", STATUS, 501, "get is not implemented"),
        ("GET", "*", 400, "Malformed request: GET *"),
        ("OPTIONS", "*", 400, "Malformed request: OPTIONS *"),
        ("GET", "v1/models", 400, "Malformed request: GET v1/models"),
        ("GET", "ftp://localhost/", 400, "Malformed request: GET ftp://"),
        ("OPTIONS", STATUS, 400, f"Malformed request: OPTIONS {STATUS}"),
        ("PATCH", PREDICT, 400, f"Malformed request: PATCH {PREDICT}"),
        # No URIs, for which TensorFlow Serving's HTTP server has 400, too.
        ("GET", "/v1/models/t%zz", 400, "Malformed request: GET /v1/models/t"),
        ("GET", "/v1/models/toy%2", 400, "Malformed request: GET /v1/models/"),
        ("GET", '/v1/models/"toy"', 400, "Malformed request: GET /v1/models/"),
        ("GET", "/v1/models/toy#a#b", 400, "Malformed request: GET /v1/models"),
        ("GET", "/v1/models/toy#a?b", 404, "Could not find any versions of"),
        ("GET", "/|", 400, "Malformed request: GET /|"),
        ("GET", "/a%0Ab", 404, "Not found: /a%0Ab"),
        ("GET", "/v1/models/a%0Ab", 404, "Could not find any versions of"),
        ("POST", f"{PREDICT}%0A", 400, f"Malformed request: POST {PREDICT}%0A"),
        # Names and versions that can be none.
        ("GET", "/v1/models/%ff", 404, "Could not find any versions of model"),
        ("GET", f"{STATUS}%00", 404, "Could not find any versions of model"),
        ("GET", STATUS + "y" * 5000, 404, "Could not find any versions of"),
        ("GET", f"{STATUS}/versions/-1", 400, "Malformed request: GET /v1/mod"),
        ("GET", f"{STATUS}/versions/1/labels/stable", 400, "Malformed request"),
        (
            "GET",
            f"{STATUS}/labels/%ff",
            400,
            "Unrecognized servable version la",
        ),
        (
            "GET",
            f"{STATUS}/versions/{'9' * 5000}",
            400,
            "Failed to convert ver",
        ),
        (
            "POST",
            "/v1/models//:predict",
            400,
            "Malformed request: POST /v1/mod",
        ),
        ("GET", "/../../etc/passwd", 404, "Not found: /../../etc/passwd"),
        ("GET", f"/{STATUS}", 404, f"Not found: /{STATUS}"),
        ("GET", "http://localhost", 200, None),
        ("GET", f"HTTP://localhost:8501{STATUS}", 200, None),
        ("GET", f"https://user@127.0.0.1{STATUS}", 200, None),
        ("GET", f"http://attacker.example{STATUS}", 403, None),
        ("GET", "http://localhost?a=/v1/", 200, None),
    ],
)
def test_targets_and_methods(server, log, method, target, status, says):
    with connect(server) as connection:
        connection.sendall(request(method, target))
        # The connection is still of use.
        connection.sendall(ALIVE)
        answer = read_until(connection, lambda a: b"AVAILABLE" in a)
    assert answer.startswith(f"HTTP/1.1 {status} ".encode())
    if says:
        _, _, body = answer.partition(b"\r\n\r\n")
        error, _ = json.JSONDecoder().raw_decode(body.decode())
        assert error["error"].startswith(says)
    wait_for(lambda: len(log) == 2)
    entry = log[0]
    assert (entry.method, entry.status) == (method, status)
    assert "\n" not in entry.path


# Too much.


# Many of them are more than the system keeps of what nobody reads.
LARGE = b"x" * 2**20


@pytest.mark.parametrize(
    ("more", "parts"),
    [
        ("Content-Length: 8388608\r\n", [LARGE] * 8),
        (
            "Transfer-Encoding: chunked\r\n",
            [b"100000\r\n" + LARGE + b"\r\n"] * 8,
        ),
        ("Content-Length: 9999999\r\nExpect: 100-continue\r\n", []),
    ],
    ids=["length", "chunked", "not sent"],
)
def test_too_large_an_upload_is_refused_with_the_reason(
    server, log, more, parts
):
    with connect(server) as connection:
        connection.sendall(request("POST", PREDICT, more=more))
        for part in parts:
            connection.sendall(part)
        head, body = read_answer(connection)
    assert head.startswith("HTTP/1.1 413 ")
    assert body == {"error": f"The request is larger than {LIMIT} bytes"}
    assert [entry.status for entry in log] == [413]


def in_chunks(body, size):
    """A body in chunks of so many bytes."""
    parts = (body[i : i + size] for i in range(0, len(body), size))
    chunks = [b"%x\r\n%s\r\n" % (len(part), part) for part in parts]
    return b"".join([*chunks, b"0\r\n\r\n"])


def test_a_body_in_too_many_chunks(serve):
    server = serve(port=None)
    head = request("POST", PREDICT, more="Transfer-Encoding: chunked\r\n")
    texts = json.dumps({"instances": ["a" * 10_000] * 20}).encode()
    for body, size, status in (
        (ONE + b" " * 16_000, 1, 200),
        (texts, 17, 200),
        (ONE + b" " * 20_000, 1, 400),
    ):
        with connect(server) as connection:
            connection.sendall(head + in_chunks(body, size))
            answer, content = read_answer(connection)
        assert answer.startswith(f"HTTP/1.1 {status} "), (size, content)
    assert content["error"].endswith("Too many chunks of few bytes")


def send_until(connection, end):
    while time.monotonic() < end:
        connection.sendall(b"x")
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("target", "length", "status"),
    [(PREDICT, 10**10, 413), ("/nowhere", 9999, 404)],
)
@pytest.mark.parametrize("sends", [True, False])
def test_an_upload_that_never_ends_is_ended(
    server, target, length, status, sends
):
    """Also where its rest never comes."""
    began = time.monotonic()
    more = f"Content-Length: {length}\r\n"
    with connect(server) as connection:
        connection.sendall(request("POST", target, more=more))
        head, _ = read_answer(connection)
        assert head.startswith(f"HTTP/1.1 {status} ")
        if not sends:
            assert read_all(connection) == b""
        with pytest.raises(ConnectionError):
            send_until(connection, began + 9)
    assert time.monotonic() < began + 4


# What takes long.

HALF_A_BODY = post(ONE)[:-9]


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"", b""),
        (ALIVE[:20], b""),
        (ALIVE[:-2], b""),
        (ALIVE + b"POST /v", b"200"),
        (HALF_A_BODY, b"408"),
    ],
    ids="silence line head second body".split(),
)
def test_half_sent_requests_are_hung_up_on(server, data, status):
    began = time.monotonic()
    with connect(server) as waiting, connect(server) as connection:
        waiting.sendall(data)
        connection.sendall(data)
        assert ask(server, PREDICT, ONE).status == 200
        for one in (waiting, connection):
            assert read_all(one)[9:12] == status
    assert time.monotonic() - began < 9


@pytest.mark.medium
def test_an_idle_connection_is_kept_for_longer_than_a_request_takes(server):
    with connect(server) as connection:
        for pause in (0, 12 * SECONDS):
            time.sleep(pause)
            connection.sendall(ALIVE)
            head, _ = read_answer(connection)
            assert head.startswith("HTTP/1.1 200 ")
        # Half a request ends as soon as it would on a new connection.
        began = time.monotonic()
        connection.sendall(ALIVE[:20])
        assert read_all(connection) == b""
        assert SECONDS / 2 < time.monotonic() - began < 4


def test_a_connection_that_is_reset_leaves_nothing(server, monkeypatch):
    seen = []
    kind = http_protocol._LimitedProtocol
    made = kind.connection_made

    def see(protocol, transport):
        seen.append(weakref.ref(protocol))
        made(protocol, transport)

    monkeypatch.setattr(kind, "connection_made", see)
    with connect(server) as connection:
        connection.sendall(ALIVE)
        assert read_answer(connection)[0].startswith("HTTP/1.1 200 ")
        # Closing it sends RST.
        no_wait = struct.pack("ii", 1, 0)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, no_wait)
    wait_for(lambda: gc.collect() >= 0 and seen[0]() is None, 5)


def test_half_sent_bodies_take_no_place_of_whole_ones(serve):
    server = serve(port=None, limits=Limits(max_requests=2))
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            slow = stack.enter_context(connect(server))
            slow.sendall(HALF_A_BODY)
        time.sleep(0.2)
        for _ in range(3):
            answer = ask(server, PREDICT, ONE)
            assert answer.status == 200, answer.body


def test_idle_connections_give_way_to_new_ones(serve, monkeypatch):
    monkeypatch.setattr(module, "_MAX_CONNECTIONS", 3)
    server = serve(port=None)

    def status(connection, data=ALIVE):
        connection.sendall(data)
        return read_answer(connection)[0].split()[1]

    with contextlib.ExitStack() as stack:
        first, second, third = (
            stack.enter_context(connect(server)) for _ in range(3)
        )
        # The first is the last to ask, so that the second goes.
        for connection in (first, second, third, first):
            assert status(connection) == "200"
        fourth = stack.enter_context(connect(server))
        assert status(fourth) == "200"
        assert second.recv(1) == b""
        # Those that have begun don't give way.
        begun = (first, third, fourth)
        for connection in begun:
            connection.sendall(ALIVE[:20])
        time.sleep(0.1)
        fifth = stack.enter_context(connect(server))
        with pytest.raises((ConnectionError, AssertionError)):
            status(fifth)
        for connection in begun:
            assert status(connection, ALIVE[20:]) == "200"


def test_a_request_that_ends_after_its_answer_gives_way(serve, monkeypatch):
    monkeypatch.setattr(module, "_MAX_CONNECTIONS", 1)
    server = serve(port=None)
    with connect(server) as first:
        first.sendall(request("POST", "/no", more="Content-Length: 1\r\n"))
        assert read_answer(first)[0].startswith("HTTP/1.1 404 ")
        first.sendall(b"x")
        time.sleep(0.1)
        with connect(server) as second:
            second.sendall(ALIVE)
            assert read_answer(second)[0].startswith("HTTP/1.1 200 ")
        assert first.recv(1) == b""
