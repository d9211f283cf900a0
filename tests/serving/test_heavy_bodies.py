"""Bodies that would hold the interpreter or the memory for long."""

import contextlib
import json
import random
import time

import pytest

from keras_transformer.contract.status import ServingError
from keras_transformer.serving.server import json_tensors, json_text
from keras_transformer.serving.server.admission import Limits
from tests.serving.asking import ONE, PREDICT, ask, connect, post

SIZE = 4 * 2**20


def repeated(unit, head=b'{"instances": [', tail=b"]}"):
    count = (SIZE - len(head) - len(tail)) // (len(unit) + 1)
    return head + b",".join([unit] * count) + tail


HEAVY = {
    "lists": repeated(b"[]"),
    "nested": repeated(b"[[[[[[[[]]]]]]]]"),
    "objects": repeated(b'{"b64":""}'),
    "numbers": repeated(b"1"),
    "texts": repeated(b'""'),
    "keys": repeated(b'"k":[]', b'{"instances": ["a"], "more": {', b"}}"),
    "closing": b"[" * 101 + b"]" * (SIZE - 101),
    "columns": repeated(b"[]", b'{"inputs": {"text": [', b"]}}"),
    "after a quote": repeated(b"[]", b'{"instances": ["\\\\\\"[", "\\\\", '),
}


@pytest.mark.parametrize("kind", HEAVY)
def test_many_values_are_refused_before_they_are_parsed(
    server, kind, monkeypatch
):
    parsed, parse = [], json_text._read
    monkeypatch.setattr(
        json_text, "_read", lambda text: parsed.append(text) or parse(text)
    )
    assert ask(server, PREDICT, ONE).status == 200
    assert len(parsed) == 1
    answer = ask(server, PREDICT, HEAVY[kind], timeout=60)
    assert answer.status == 400
    assert "has more than 131072 values" in answer.body.decode()
    assert len(parsed) == 1


def test_text_full_of_brackets_is_text(server):
    """Also where there are quotes and backslashes in it."""
    text = '[{"],}\\' * 2000
    answer = ask(server, PREDICT, {"instances": [text] * 100}, timeout=60)
    assert answer.status == 200
    assert json.loads(answer.body) == {"predictions": [text.upper()] * 100}


def random_value(chance, depth=0):
    """A value, how many it holds, and how deep lists and objects are in it."""
    kind = chance.randrange(3 if depth < 6 else 1)
    if kind == 0:
        text = "".join(chance.choices('a"\\[]{},:é\n', k=chance.randrange(9)))
        return chance.choice([text, 1, -2.5, True, None]), 1, 0
    inner = [
        random_value(chance, depth + 1) for _ in range(chance.randrange(4))
    ]
    values = [row[0] for row in inner]
    if kind == 2:
        # Keys of any text, too.
        values = {f'{i}"\\[,{{': value for i, value in enumerate(values)}
    # An empty list counts as if there was something in it.
    count = 1 + max(1, sum(row[1] for row in inner))
    return values, count, 1 + max((row[2] for row in inner), default=0)


def test_values_are_counted_as_the_parser_finds_them(monkeypatch):
    chance = random.Random(5)
    limit = json_text._MAX_DEPTH
    for _ in range(500):
        value, count, depth = random_value(chance)
        body = json.dumps(value, ensure_ascii=chance.random() < 0.5).encode()
        monkeypatch.setattr(json_text, "_MAX_DEPTH", depth)
        json_text._check_structure(body, count)
        if count > 2:
            with pytest.raises(ServingError, match="values"):
                json_text._check_structure(body, count - 2)
        monkeypatch.setattr(json_text, "_MAX_DEPTH", depth - 1)
        if depth:
            with pytest.raises(ServingError, match="nested too deeply"):
                json_text._check_structure(body, count)
        monkeypatch.setattr(json_text, "_MAX_DEPTH", limit)


def test_rows_are_counted_before_they_are_converted(server, monkeypatch):
    made = []
    element = json_tensors._element
    monkeypatch.setattr(
        json_tensors, "_element", lambda *row: made.append(1) or element(*row)
    )
    rows = [str(number) for number in range(1025)]
    for body in (
        {"instances": rows},
        {"inputs": rows},
        {"inputs": {"text": rows}},
    ):
        answer = ask(server, PREDICT, body)
        assert answer.status == 400
        assert json.loads(answer.body)["error"] == (
            "Input text has 1025 rows; at most 1024 are accepted"
        )
    assert made == []


@pytest.mark.parametrize("text", ["a\n" * 1025, "你。" * 1025, "A b. " * 1025])
def test_texts_of_too_many_sentences_are_refused(server, text):
    assert ask(server, PREDICT, {"instances": ["1.5 " * 1025]}).status == 200
    answer = ask(server, PREDICT, {"instances": ["a", text]})
    assert answer.status == 400
    assert json.loads(answer.body)["error"] == (
        "Input text has a text of 1025 sentences; at most 1024 are accepted"
    )


# Bytes in flight.


def test_long_bodies_keep_no_short_ones_away(serve):
    limits = Limits(max_request_bytes=300_000, max_bytes_in_flight=600_000)
    server = serve(limits=limits)
    long = json.dumps({"instances": ["a" * 14_000] * 20}).encode()
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(connect(server)).sendall(post(long)[:-1])
        time.sleep(1)  # They come by turns, and a third would be among them.
        end = time.monotonic() + 20
        while (answer := ask(server, PREDICT, long)).status == 200:
            assert time.monotonic() < end  # Those two haven't arrived yet.
        assert answer.status == 429
        assert json.loads(answer.body) == {
            "error": "Too many bytes in requests"
        }
        short = {"instances": ["a" * 14_000]}
        assert ask(server, PREDICT, short).status == 200
    while (answer := ask(server, PREDICT, long)).status != 200:
        assert time.monotonic() < end + 20


def test_an_answer_counts_among_the_bytes(serve):
    """17 bytes of arrays for each text; the first 16 KiB are free."""
    limits = Limits(max_request_bytes=3500, max_bytes_in_flight=1)
    server = serve(limits=limits)
    for rows, status in ((900, 200), (1024, 429), (900, 200)):
        document = {"signature_name": "length", "inputs": [""] * rows}
        body = json.dumps(document, separators=(",", ":")).encode()
        assert ask(server, PREDICT, body).status == status
