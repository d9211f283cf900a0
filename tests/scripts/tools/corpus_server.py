"""A web server on 127.0.0.1 that misbehaves on request."""

import http.server
import re

_ETAG = '"first"'


class CorpusServer(http.server.ThreadingHTTPServer):
    """Serves `files` (path -> bytes) and notes the requests.

    Attributes:
        files: What is there, by path without the query.
        requests: Path and Range of each request.
        cut_after: Bytes after which the next answers end, one by one.
    """

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.files: dict[str, bytes] = {}
        self.requests: list[tuple[str, str | None]] = []
        self.cut_after: list[int] = []


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        asked = self.headers.get("Range")
        self.server.requests.append((self.path, asked))
        content = self.server.files.get(self.path.partition("?")[0])
        if self.headers.get("User-Agent", "").startswith("Python-urllib"):
            return self.send_error(406)
        if content is None:
            return self.send_error(404)
        start = 0
        if asked and self.headers.get("If-Range") == _ETAG:
            start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1])
            self.send_response(206)
            last, size = len(content) - 1, len(content)
            self.send_header("Content-Range", f"bytes {start}-{last}/{size}")
        else:
            self.send_response(200)
        body = content[start:]
        self.send_header("ETag", _ETAG)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.server.cut_after:
            body = body[: self.server.cut_after.pop(0)]
        self.wfile.write(body)

    def log_message(self, *arguments):
        """Says nothing."""
