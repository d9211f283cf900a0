"""Who may ask under which name, and what pages of other sites may send."""

import json
import socket

import pytest

from keras_transformer.cli.main import build_parser, main
from keras_transformer.cli.serve import server_options
from keras_transformer.errors import InputError
from keras_transformer.exporting.verification import c_api
from keras_transformer.serving.server.middleware import AllowedHosts
from keras_transformer.serving.server.server import ServerOptions
from tests.serving.asking import ONE, PREDICT, ask, connect, host


def status(server, name):
    return ask(server, PREDICT, ONE, headers={"Host": name}).status


def test_only_this_machine_s_names_on_a_loopback_host(server):
    port = server.rest_port
    for name in (
        *("localhost", f"LocalHost:{port}", "127.0.0.1", "127.8.9.10:1"),
        *("[::1]:80", "translate.localhost", socket.gethostname()),
    ):
        assert status(server, name) == 200, name
    for name in (
        *("localhost.attacker.example", "[::1", "a:b", "a@localhost", "x y"),
    ):
        assert status(server, name) == 403, name
    for path, body in ((PREDICT, ONE), ("/v1/models/toy", None), ("/", None)):
        for name in ("attacker.example", f"attacker.example:{port}"):
            answer = ask(server, path, body, headers={"Host": name})
            assert answer.status == 403
            assert json.loads(answer.body)["error"].endswith(
                "and the names that --allowed_hosts has"
            )


def test_a_request_without_a_host(server):
    with connect(server) as client:
        client.sendall(b"GET /v1/models/toy HTTP/1.0\r\n\r\n")
        assert client.recv(65536).startswith(b"HTTP/1.1 200")


def test_any_name_on_an_address_that_others_can_ask(serve):
    server = serve(port=None, host="0.0.0.0")
    assert status(server, "attacker.example") == 200


def test_the_names_that_are_given(serve):
    server = serve(
        port=None,
        host="0.0.0.0",
        allowed_hosts=(" Translate.example", "*.pods.example", ".a.example"),
    )
    for name in (
        *("translate.example", "TRANSLATE.example.:443", "a.pods.example"),
        *("a.b.pods.example", "b.a.example", "localhost", "192.0.2.1:8501"),
    ):
        assert status(server, name) == 200, name
    for name in ("example", "pods.example", "xpods.example", "a.translate."):
        assert status(server, name) == 403, name


@pytest.mark.parametrize(
    "name", ["http://a", "a:80", "", "a/b", "a..b", "*a", "**", "a b"]
)
def test_what_is_no_name_of_a_host(name):
    with pytest.raises(InputError, match="--allowed_hosts: .* Accepted: "):
        AllowedHosts([name])


def test_the_option(toy_base, capsys, monkeypatch):
    # Tests that follow in this process compile.
    monkeypatch.setattr(c_api, "disable_xla", lambda: True)
    flags = ["serve", "--engine=embedded", "--model_base_path", str(toy_base)]
    parser = build_parser()

    def given(*more):
        return server_options(parser.parse_args([*flags, *more])).allowed_hosts

    assert given() is ServerOptions().allowed_hosts is None
    assert given("--allowed_hosts=a,.b") == ["a", ".b"]
    assert main([*flags, "--allowed_hosts=http://a"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert "'http://a' is no name of a host. Accepted: " in said[-1]
    assert "Traceback" not in said


# Pages of other sites.


@pytest.mark.parametrize(
    ("origin", "kind", "expected"),
    [
        ("http://attacker.example", "text/plain", 403),
        ("http://attacker.example", "TEXT/PLAIN; charset=utf-8", 403),
        ("http://attacker.example", "application/x-www-form-urlencoded", 403),
        ("http://attacker.example", "multipart/form-data; boundary=a", 403),
        ("http://attacker.example", None, 403),
        ("null", "text/plain", 403),
        ("http://localhost:1", "text/plain", 403),
        # A script's, which the browser or a proxy has allowed.
        ("http://attacker.example", "application/json", 200),
        # The server's own page, and whoever is no browser.
        ("http://{own}", "text/plain", 200),
        (None, "application/x-www-form-urlencoded", 200),
    ],
)
def test_forms_of_other_sites(server, origin, kind, expected):
    headers = {"Origin": origin and origin.format(own=host(server))}
    headers["Content-Type"] = kind
    given = {name: value for name, value in headers.items() if value}
    answer = ask(server, PREDICT, ONE, headers=given)
    assert answer.status == expected


def test_the_page_s_data_are_for_its_own_requests(server):
    path = "/assets/models.json"
    for headers, expected in (
        ((), 403),
        ((("X-Requested-With", "XMLHttpRequest"),), 403),
        ((("X-Requested-With", "keras-transformer"),), 200),
    ):
        answer = ask(server, path, headers=headers)
        assert answer.status == expected
    assert json.loads(answer.body) == {"models": ["toy"], "languages": {}}
