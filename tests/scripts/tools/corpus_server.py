"""A web server on 127.0.0.1 that misbehaves on request."""

import http.server
import re
import threading

_ETAG = '"first"'


class CorpusServer:
    """Serves `files` (path -> bytes) and notes the requests.

    Attributes:
        files: What is there, by path without the query.
        requests: Path, Range and User-Agent of each request.
        cut_after: Bytes after which the next answers end, one by one.
    """

    def __init__(self):
        self.files: dict[str, bytes] = {}
        self.requests: list[tuple[str, str | None, str]] = []
        self.cut_after: list[int] = []
        self._server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), self._handler()
        )
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *error):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self):
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                owner._answer(self)

            def log_message(self, *arguments):
                pass

        return Handler

    def _answer(self, handler) -> None:
        asked = handler.headers.get("Range")
        agent = handler.headers.get("User-Agent", "")
        self.requests.append((handler.path, asked, agent))
        content = self.files.get(handler.path.partition("?")[0])
        if agent.startswith("Python-urllib"):
            return self._refuse(handler, 406)
        if content is None:
            return self._refuse(handler, 404)
        start = 0
        if asked and handler.headers.get("If-Range") == _ETAG:
            start = int(re.fullmatch(r"bytes=(\d+)-", asked)[1])
            handler.send_response(206)
            last = len(content) - 1
            handler.send_header(
                "Content-Range", f"bytes {start}-{last}/{len(content)}"
            )
        else:
            handler.send_response(200)
        handler.send_header("ETag", _ETAG)
        body = content[start:]
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        if self.cut_after:
            body = body[: self.cut_after.pop(0)]
        handler.wfile.write(body)

    @staticmethod
    def _refuse(handler, status: int) -> None:
        handler.send_response(status)
        handler.send_header("Content-Length", "0")
        handler.end_headers()
