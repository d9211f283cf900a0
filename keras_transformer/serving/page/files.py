"""The page at `/` of the REST port: its files, and what a browser may do.

The files are plain HTML, CSS and ES modules that are served as they are
written. What the page shows comes from the served contract; only the names of
the models and their languages do not, as TensorFlow Serving has no words for
them.
"""

import json
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

from starlette.responses import Response

ASSETS = pathlib.Path(__file__).with_name("assets")
MODELS_PATH = "/assets/models.json"
# With the page's own requests, and with no form's: for a script of another
# site browsers ask beforehand whether it may be sent.
REQUEST_HEADER = "x-requested-with"
REQUESTED_WITH = "keras-transformer"

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
# Scripts and styles from here only, none inside the HTML, and no string ever
# becomes markup: what a model or a user writes can't do anything.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
_HEADERS = {
    # Modules of two releases must not meet in one browser.
    "cache-control": "no-store",
    "content-security-policy": _POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class Page:
    """The answers to the requests for the page and its parts.

    Args:
        models: gives the names of the models that are served now, and by
            model the tags of source and target, of those that are known.

    Attributes:
        paths: that it answers.
    """

    def __init__(self, models: Callable[[], dict[str, Any]]) -> None:
        self._models = models
        self._files = {
            f"/assets/{file.name}": (file.read_bytes(), _TYPES[file.suffix])
            for file in sorted(ASSETS.iterdir())
            if file.suffix in _TYPES
        }
        self._files["/"] = self._files.pop("/assets/index.html")
        self.paths = [MODELS_PATH, *self._files]

    def answer(self, path: str, headers: Mapping[str, str]) -> Response:
        """The answer to GET of one of its paths.

        Args:
            path: of the request.
            headers: by names in lower case. Data is for the page's own
                requests only.
        """
        if path == MODELS_PATH:
            if headers.get(REQUEST_HEADER) != REQUESTED_WITH:
                message = "It is answered to this server's own page only"
                body = json.dumps({"error": message}).encode()
                return Response(body, 403, _HEADERS, "application/json")
            body = json.dumps(self._models()).encode()
            return Response(body, 200, _HEADERS, "application/json")
        body, media_type = self._files[path]
        return Response(body, 200, _HEADERS, media_type)
