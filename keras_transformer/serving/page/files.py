"""Web page at `/` of the REST port: its files and their security headers.

The files are plain HTML, CSS and ES modules, served unchanged. The page gets
its data from the REST API, except for the names of the models and their
languages, which TensorFlow Serving's API doesn't provide.
"""

import json
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

from starlette.responses import Response

ASSETS = pathlib.Path(__file__).with_name("assets")
MODELS_PATH = "/assets/models.json"
# The page's own requests have this header. Forms can't set it, and scripts of
# other sites only after a preflight request.
REQUEST_HEADER = "x-requested-with"
REQUESTED_WITH = "keras-transformer"

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
# Allows scripts and styles from this server only, none of them inline, and no
# string as markup, so that text from a model or a user can't run as code.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
_HEADERS = {
    # Prevents browsers from mixing modules of two releases.
    "cache-control": "no-store",
    "content-security-policy": _POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class Page:
    """Answers requests for the page and its parts.

    Args:
        models: function that returns the names of the models being served,
            and for each model the tags of source and target, if known.

    Attributes:
        paths: the paths that the page answers.
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
        """Answers GET requests for one of `paths`.

        Args:
            path: the request's path.
            headers: headers by lower-case name. `MODELS_PATH` is answered to
                the page's own requests only.
        """
        if path == MODELS_PATH:
            if headers.get(REQUEST_HEADER) != REQUESTED_WITH:
                message = "Only this server's own page may request this"
                body = json.dumps({"error": message}).encode()
                return Response(body, 403, _HEADERS, "application/json")
            body = json.dumps(self._models()).encode()
            return Response(body, 200, _HEADERS, "application/json")
        body, media_type = self._files[path]
        return Response(body, 200, _HEADERS, media_type)
