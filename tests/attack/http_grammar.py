"""A grammar of raw HTTP exchanges: heads and bodies that are nearly right."""

from hypothesis import strategies as st

from tests.attack.examples import pick

_METHODS = pick(
    *(b"GET", b"GET", b"POST", b"POST", b"HEAD", b"OPTIONS", b"CONNECT"),
    *(b"TRACE", b"PRI", b"get", b"", b"G\x00T", b"X" * 300, b"\xff"),
)
_TARGETS = pick(
    *(b"/v1/models/toy", b"/v1/models/toy:predict", b"/", b"*", b""),
    *(b"http://127.0.0.1/v1/models/toy", b"127.0.0.1:80", b"/a b", b"//"),
    *(b"/v1/models/toy%0A", b"/%", b"/%zz", b"/\xff", b"/#", b"/?"),
    *(b"/" + b"a" * 70_000, b"/..", b"/\x00", b"https://foreign.example"),
)
_VERSIONS = pick(
    *(b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0"),
    *(b"HTTP/0.9", b"HTTP/1.1 ", b"http/1.1", b"HTTP/11.1", b""),
)
_ENDS = pick(b"\r\n", b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r")
_NAMES = pick(
    *(b"Host", b"Content-Length", b"Content-Length", b"Transfer-Encoding"),
    *(b"Connection", b"Expect", b"Upgrade", b"Content-Type", b"TE"),
    *(b"Content-Length ", b" Host", b"", b"H\x00st", b"X" * 9000, b"\xff"),
    *(b"Transfer-Encoding\t", b"Trailer", b"HTTP2-Settings"),
)
_WORDS = st.one_of(
    pick(
        *(b"127.0.0.1", b"foreign.example", b"", b"0", b"2", b"20", b"-1"),
        *(b"+2", b"2, 2", b"2, 3", b"0x2", b"2 ", b"9" * 30, b"\x00"),
        *(b"chunked", b"chunked, chunked", b"gzip, chunked", b"identity"),
        *(b"xchunked", b"close", b"keep-alive", b"100-continue", b"h2c"),
        *(b"websocket", b"a\r\n b", b"a" * 70_000, b"\x80\xff"),
    ),
    st.binary(max_size=6),
)
_RIGHT = b'{"instances": ["a"]}'
_CHUNKS = st.lists(
    st.builds(
        lambda size, end, content, last: size + end + content + last,
        pick(
            *(b"14", b"14", b"0", b"0", b"5", b"-1", b"+14", b"0x14"),
            *(b"14;a=b", b"14 ", b"f" * 16, b"g", b"", b"00000014"),
        ),
        _ENDS,
        pick(_RIGHT, _RIGHT, b"", b"x" * 40),
        _ENDS,
    ),
    max_size=4,
).map(b"".join)
_BODIES = st.one_of(
    pick(b"", _RIGHT, _RIGHT, _RIGHT[:9], _RIGHT * 2),
    _CHUNKS,
    _CHUNKS.map(lambda chunks: chunks + b"0\r\n\r\n"),
    st.binary(max_size=30),
)


@st.composite
def _messages(draw):
    """A request that is right, or one with a part or two of another kind."""
    target = draw(_TARGETS)
    method = draw(_METHODS)
    body = draw(_BODIES)
    headers = [(b"Host", b"127.0.0.1")] if draw(st.integers(0, 9)) else []
    if body:
        headers.append(
            (b"Transfer-Encoding", b"chunked")
            if draw(st.booleans())
            else (b"Content-Length", str(len(body)).encode())
        )
    more = draw(st.lists(st.tuples(_NAMES, _WORDS), max_size=2))
    lines = [b" ".join((method, target, draw(_VERSIONS)))]
    lines += [
        name + draw(pick(b": ", b":", b" : ", b"")) + word
        for name, word in [*headers, *more]
    ]
    if draw(st.integers(0, 49)) == 0:
        lines += [b"A: b"] * draw(pick(100, 20_000))
    head = b"".join(line + draw(_ENDS) for line in lines[:40])
    head += b"".join(line + b"\r\n" for line in lines[40:])
    return head + draw(_ENDS) + body


@st.composite
def exchanges(draw):
    """The parts in which one or a few requests are sent."""
    sent = b"".join(draw(st.lists(_messages(), min_size=1, max_size=3)))
    if draw(st.integers(0, 4)) == 0:
        sent = sent[: draw(st.integers(0, len(sent)))]
    cuts = draw(st.lists(st.integers(0, len(sent)), max_size=2))
    ends = [0, *sorted(cuts), len(sent)]
    return [
        sent[begin:end]
        for begin, end in zip(ends, ends[1:], strict=False)
        if end > begin
    ]
