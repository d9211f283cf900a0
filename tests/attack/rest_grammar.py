"""A grammar of REST requests: right ones, and what comes near or far of them.

Hypothesis draws from it. Most begin as a request that is right and are then
bent: in what they say, in how it is written, in its bytes, in its head.
"""

import gzip
import json
from typing import NamedTuple

from hypothesis import strategies as st

from tests.attack.examples import pick

# Pieces that are repeated, and how often: deep, long, many.
_PIECES = ["[", "[[", '{"a":', "9", "a", '"a",', "\\u0000", " ", "\x00", "狗"]
_TIMES = [0, 1, 2, 31, 33, 1000, 1025, 20_000, 200_000]
_ODD_TEXTS = [
    *("", " ", "\x00", "\n\t\r", "\ufeff", "\U0010ffff", "\u202eabc"),
    *("狗" * 40, "a" * 16_384, "a" * 16_385, "e\u0301" * 9),
    *("<script>", "1e999", "NaN"),
]
_NUMBERS = st.one_of(
    st.integers(-5, 5),
    pick(2**31 - 1, 2**31, -(2**31) - 1, 2**53 + 1, 2**63, 2**64),
    st.integers(-(10**40), 10**40),
    st.floats(),
)
TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(_ODD_TEXTS),
    st.text("ab \t", max_size=4),
)
_BASE64 = st.one_of(
    pick("", "YQ==", "YQ", "Y", "?", "YQ =\n=", "狗", "/w=="),
    st.text(max_size=5),
).map(lambda text: {"b64": text})
_WORDS = st.one_of(TEXTS, _BASE64)
_KEYS = st.one_of(
    pick("instances", "inputs", "signature_name", "text", "x", "y", "b64", ""),
    st.text(max_size=4),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), _NUMBERS, TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(_KEYS, inner, max_size=3)
    ),
    max_leaves=8,
)


def _rows(values):
    return st.lists(values, min_size=1, max_size=5)


# What each signature of the toy model takes, by columns.
_COLUMNS = {
    "serving_default": _rows(_WORDS),
    "length": _rows(_WORDS),
    "number": _rows(st.one_of(_NUMBERS.map(str), TEXTS)),
    "join": _rows(_WORDS),
    "flip": _rows(st.booleans()),
    "scalar": st.floats(width=32),
    "double": st.integers(0, 4).flatmap(
        lambda n: _rows(st.lists(st.integers(-9, 9), min_size=n, max_size=n))
    ),
    "add": _rows(st.tuples(st.floats(width=32), st.floats(width=32))).map(
        lambda rows: {"x": [x for x, _ in rows], "y": [y for _, y in rows]}
    ),
}


@st.composite
def _documents(draw):
    """An object that is a right request, but for what numbers may not be."""
    name = draw(st.sampled_from(list(_COLUMNS)))
    columns = draw(_COLUMNS[name])
    document = {} if name == "serving_default" else {"signature_name": name}
    if name in ("scalar", "join") or draw(st.booleans()):
        document["inputs"] = columns
    elif name == "add":
        pairs = zip(columns["x"], columns["y"], strict=True)
        document["instances"] = [{"x": x, "y": y} for x, y in pairs]
    else:
        document["instances"] = columns
    return document


@st.composite
def _bent_documents(draw):
    """A right request in which one thing or two are something else."""
    document = draw(_documents())
    for _ in range(draw(st.integers(1, 2))):
        kind = draw(st.integers(0, 4))
        key = draw(pick(*document, *("instances", "inputs")))
        if kind == 0:
            document.pop(key, None)
        elif kind == 1:
            document[key] = draw(VALUES)
        elif kind == 2 and isinstance(document.get(key), list):
            rows = [*document[key]]
            rows.insert(draw(st.integers(0, len(rows))), draw(VALUES))
            document[key] = rows
        elif kind == 3:
            document[draw(_KEYS)] = draw(VALUES)
        elif isinstance(document.get(key), list):
            document[key] = document[key] * draw(pick(0, 2, 100, 1024, 1025))
    return document


@st.composite
def _written(draw, documents):
    """A document in one of JSON's ways of writing it."""
    text = json.dumps(
        draw(documents),
        ensure_ascii=draw(st.booleans()),
        indent=draw(pick(None, None, 0, 3)),
        separators=draw(pick(None, (",", ":"))),
    )
    # A key that stands there a second time.
    if draw(st.integers(0, 19)) == 0:
        text = text.rstrip("} \n") + ', "instances": ["b"]}'
    return text.encode("utf-8", "surrogatepass")


@st.composite
def _damaged(draw, bodies):
    """A body whose bytes are damaged at one spot."""
    body = draw(bodies)
    at = draw(st.integers(0, len(body)))
    piece = draw(
        st.one_of(
            st.binary(max_size=3),
            pick(
                *(b"\xff", b"\xef\xbb\xbf", b"\\ud800", b"\x00", b"//"),
                *(b"NaN", b"-Infinity", b"1e999", b",", b'"', b"]"),
            ),
        )
    )
    return body[:at] + piece + body[at + draw(st.integers(0, 3)) :]


_REPEATED = st.builds(
    lambda begin, piece, times, end: (begin + piece * times + end).encode(),
    pick("", '{"instances": ', '{"instances": [', '{"inputs": "'),
    st.sampled_from(_PIECES),
    st.sampled_from(_TIMES),
    pick("", "]}", "}", '"}', '"a"]}'),
)
_RIGHT = _written(_documents())
BODIES = st.one_of(
    _RIGHT,
    _written(_bent_documents()),
    _written(_bent_documents()),
    _damaged(_RIGHT),
    _written(VALUES),
    _REPEATED,
    st.binary(max_size=20),
)


class Request(NamedTuple):
    """What is sent, and what may be said of the answer.

    Attributes:
        method: of HTTP.
        path: with its query, as it is sent.
        headers: by name.
        body: bytes; None: there is none.
    """

    method: str
    path: str
    headers: dict
    body: bytes | None


_SEGMENTS = st.one_of(
    pick("toy", "toy", "toy", "none", "Toy", "%74oy", "t%2Foy"),
    st.text("abz%/.:~\x7f狗?", max_size=6).map(
        lambda text: text.encode("utf-8").decode("latin-1")
    ),
)
_VERSIONS = pick(
    "1", "2", "9", "01", "0", "-1", "+1", "1.0", "", "9" * 30, "9" * 5000
)
_LABELS = st.one_of(pick("stable", "canary", "%73table"), _SEGMENTS)
_QUERIES = pick(*[""] * 9, "?", "?a=1", "?\x80", "#a", "%0A", "//")
_OTHER_PATHS = pick(
    *("/", "/openapi.json", "/monitoring/prometheus/metrics", "/v1", "*"),
    *("/v1/models", "/v1/models/", "/assets/models.json", "/favicon.ico"),
    *("/assets/../../etc/passwd", "/%2e%2e/", "//v1/models/toy", "/v2"),
    *("http://127.0.0.1/v1/models/toy", "/" + "a" * 9000),
    "/v1/models/toy/",
)


@st.composite
def _paths(draw):
    """A path of the API or near it."""
    path = "/v1/models/" + draw(_SEGMENTS)
    which = draw(st.integers(0, 3))
    if which == 0:
        path += "/versions/" + draw(_VERSIONS)
    elif which == 1:
        path += "/labels/" + draw(_LABELS)
    path += draw(
        pick(
            *([":predict"] * 5),
            *("", "/metadata", ":classify", ":regress", ":other", "/x"),
        )
    )
    if draw(st.integers(0, 9)) == 0:
        path = path.swapcase()
    return path + draw(_QUERIES)


_HEADERS = st.dictionaries(
    pick(
        *("Content-Type", "Accept", "Accept-Encoding", "Expect", "Origin"),
        *("X-Forwarded-For", "Content-Encoding", "Connection", "Range"),
    ),
    pick(
        *("", "application/json", "text/plain; charset=utf-16", "gzip"),
        *("100-continue", "close", "keep-alive", "bytes=0-1", "\xff", "br"),
        *("http://foreign.example", "a" * 4000, "identity;q=0", "upgrade"),
    ),
    max_size=2,
)


@st.composite
def requests(draw):
    """A request, mostly to predict and mostly to a path that is there."""
    path = draw(
        st.one_of(
            st.just("/v1/models/toy:predict"),
            st.just("/v1/models/toy:predict"),
            _paths(),
            _paths(),
            _OTHER_PATHS,
        )
    )
    is_post = ":" in path or draw(st.integers(0, 9)) == 0
    method = "POST" if is_post else "GET"
    if draw(st.integers(0, 19)) == 0:
        method = draw(
            pick(
                *("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"),
                *("TRACE", "get", "BREW", "M-SEARCH"),
            )
        )
    body = draw(BODIES) if method == "POST" else None
    headers = draw(_HEADERS) if draw(st.integers(0, 3)) == 0 else {}
    if body is not None and draw(st.integers(0, 19)) == 0:
        body = gzip.compress(body)
        headers["Content-Encoding"] = "gzip"
    return Request(method, path, headers, body)
