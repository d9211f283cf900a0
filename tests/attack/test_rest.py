"""REST under attack: every answer is described, in time, and no bug.

At the full size 18,000 requests: 12,000 by the grammar, 4,000 that are right
and whose answers are known, and 2,000 raw exchanges.
"""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.attack.examples import attacking
from tests.attack.http_grammar import exchanges
from tests.attack.raw_client import RawClient, exchange, statuses
from tests.attack.rest_grammar import TEXTS, Request, requests
from tests.serving.described import described

pytestmark = pytest.mark.slow
# Of what isn't an operation of the API: by the path, a proxy's or the page's.
OTHER = {200, 400, 403, 404, 405, 408, 413, 414, 421, 426, 431, 501, 505}


@pytest.fixture
def ask(served, watched):
    """Sends a request and compares the answer with the description."""
    client = RawClient(served.rest_port)

    def asked(request):
        with watched.one():
            answer = client.ask(request)
        path = request.path.partition("?")[0]
        operation = described().operation(request.method, path)
        if not request.path.isprintable() and answer.status == 400:
            return answer  # The HTTP parser's own refusal.
        if operation or answer.status not in OTHER or answer.status == 501:
            kind = answer.headers.get("content-type", "")
            assert answer.body, (request, answer)
            described().check(
                *(request.method, path, answer.status, kind, answer.body)
            )
        assert b"Traceback" not in answer.body
        assert answer.status not in (500, 502), (request, answer)
        watched.look()
        return answer

    yield asked
    client.close()


def test_rest_requests_by_grammar(share, ask):
    @attacking(share(12_000))
    @given(requests())
    def by_grammar(request):
        ask(request)

    by_grammar()


def test_rest_answers_that_are_known(share, ask):
    """Capitals, in the form of the request."""

    @attacking(share(4_000))
    @given(st.lists(TEXTS, min_size=1, max_size=6), st.booleans())
    def known(texts, by_rows):
        texts = [text.encode("utf-8", "replace").decode() for text in texts]
        texts = [text for text in texts if len(text.encode()) <= 16_384]
        key, answers = ("instances", "predictions"), ("inputs", "outputs")
        key, name = key if by_rows else answers
        body = json.dumps({key: texts or ["a"]}).encode()
        answer = ask(Request("POST", "/v1/models/toy:predict", {}, body))
        assert answer.status == 200, answer
        expected = [t.encode().upper().decode() for t in texts or ["a"]]
        assert json.loads(answer.body) == {name: expected}

    known()


def test_raw_http_exchanges(share, served, watched):
    @attacking(share(2_000))
    @given(exchanges())
    def raw(parts):
        with watched.one():
            received = exchange(served.rest_port, parts)
        assert b"Traceback" not in received
        assert not received or received.startswith(b"HTTP/1."), received[:200]
        known = {100, 101, 204, *OTHER, 429, 499, 503, 504}
        assert set(statuses(received)) <= known - {101}, received[:400]
        watched.look()

    raw()
