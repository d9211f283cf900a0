"""Download of a file over HTTP that resumes where a connection was cut.

urllib3 makes the connections. What resumes is here, because the downloaders
of corpora begin again: the bytes go to `NAME.part`, and `NAME.part.json` keeps
the address and the server's validator of this version of the file, its ETag
or date. A later attempt, in this process or the next, asks for the rest with
`Range` and `If-Range`, and begins again if the server sends something else.
`NAME` appears only when it is complete.
"""

import contextlib
import json
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import urllib3

from keras_transformer.cli.console import Progress, say
from keras_transformer.errors import InputError
from keras_transformer.system.checksums import checksum
from keras_transformer.system.files import write_json

# Some sites refuse clients that don't name themselves.
USER_AGENT = "keras-transformer-download/2 (corpus download; Python urllib3)"
LONGEST_WAIT_SECONDS = 60.0
_CHUNK_BYTES = 1 << 16
_TRANSIENT_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
# Redirects are followed; everything else is retried here, where the part is.
_RETRY = urllib3.Retry(
    total=None, connect=0, read=0, status=0, other=0, redirect=10
)


class NotFoundError(InputError):
    """The server says that there is no such file."""


class _TransientError(Exception):
    """Worth a retry, after `wait` seconds if the server said so."""

    def __init__(self, reason: str, wait: float | None = None):
        super().__init__(reason)
        self.wait = wait


def download(
    url: str,
    path: Path,
    *,
    sha256: str | None = None,
    timeout: float = 30.0,
    attempts: int = 5,
) -> str:
    """Downloads a file, resuming where an earlier attempt stopped.

    Args:
        url: an http or https address.
        path: the file to make; its folder exists.
        sha256: the checksum that the file has to have, if it is known.
        timeout: seconds without an answer or a byte until an attempt ends.
        attempts: how many in a row may bring nothing new.

    Returns:
        the SHA-256 of the file, hexadecimal.

    Raises:
        InputError: the file can't be had, or isn't the expected one.
    """
    part = _Part(path, url)
    _with_retries(
        lambda: _attempt(url, part, timeout), url, attempts, part.size
    )
    digest = checksum(part.path)
    if sha256 is not None and digest != sha256.lower():
        part.discard()
        raise InputError(
            f"{url}: SHA-256 is {digest}, expected {sha256.lower()}; "
            "nothing was kept"
        )
    say(f"{path.name}: 100% of {part.path.stat().st_size / 1e6:.1f} MB")
    part.publish(path)
    return digest


def fetch_text(url: str, timeout: float, attempts: int) -> str:
    """A small UTF-8 document, at most 1 MiB of it.

    Raises:
        InputError: it can't be had.
    """

    def read():
        with _get(url, timeout) as response:
            content = b"".join(_chunks(response))
        return content[: 1 << 20].decode("utf-8", "replace")

    return _with_retries(read, url, attempts)


class _Part:
    """The `.part` file, and the note about what it is a part of."""

    def __init__(self, path: Path, url: str):
        self.name = path.name
        self.path = path.with_name(f"{path.name}.part")
        self._note = path.with_name(f"{path.name}.part.json")
        self._url = url

    def resume_point(self) -> tuple[int, str | None]:
        """The bytes that can be kept, and their server's validator."""
        try:
            note = json.loads(self._note.read_text(encoding="utf-8"))
            validator = note["validator"]
            if note["url"] != self._url or not isinstance(validator, str):
                return 0, None
            return self.path.stat().st_size, validator
        except (OSError, ValueError, KeyError, TypeError):
            return 0, None

    def size(self) -> int:
        """The bytes that can be kept."""
        return self.resume_point()[0]

    def begin(self, validator: str | None):
        """Notes what is about to be written from its first byte."""
        self.path.unlink(missing_ok=True)
        write_json(self._note, {"url": self._url, "validator": validator})

    def publish(self, path: Path):
        """Gives the complete file its name."""
        self.path.replace(path)
        self._note.unlink(missing_ok=True)

    def discard(self):
        """Removes what there is."""
        self.path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)


def _with_retries(action, url, attempts, size=lambda: 0):
    """Retries an action after transient errors, with exponential backoff."""
    failures = 0
    while True:
        before = size()
        try:
            return action()
        except _TransientError as error:
            failures = 1 if size() > before else failures + 1
            if failures >= attempts:
                raise InputError(
                    f"{url}: {error} (attempts: {failures}); "
                    "the same command resumes from here"
                ) from error
            wait = error.wait if error.wait is not None else 2.0**failures / 2
            wait = min(wait, LONGEST_WAIT_SECONDS)
            say(f"{error}; trying again in {wait:.0f} s")
            time.sleep(wait)


def _attempt(url, part: _Part, timeout):
    """Brings the part to its end, or fails on the way."""
    offset, validator = part.resume_point()
    resume = {"Range": f"bytes={offset}-", "If-Range": validator}
    with _get(url, timeout, resume if offset else {}) as response:
        if response.status == 200:
            offset = 0
        elif not response.headers.get("Content-Range", "").startswith(
            f"bytes {offset}-"
        ):
            part.discard()
            raise _TransientError("the server can't resume from here")
        if offset:
            say(f"resuming after {offset / 1e6:.1f} MB")
        else:
            part.begin(_validator(response.headers))
        _copy(response, part, offset)


def _copy(response, part: _Part, done: int):
    """Appends the body to the part, of which `done` bytes are there."""
    length = response.headers.get("Content-Length", "")
    total = done + int(length) if length.isdigit() else None
    kilobytes = total and total // 1000
    with (
        part.path.open("ab") as file,
        Progress(part.name, kilobytes, "kB") as progress,
    ):
        for chunk in _chunks(response):
            file.write(chunk)
            # What has arrived counts, also if the next read fails.
            file.flush()
            done += len(chunk)
            progress.update(done // 1000)


@contextlib.contextmanager
def _get(url, timeout, headers=None) -> Iterator[urllib3.BaseHTTPResponse]:
    """The answer to a request, its body not yet read.

    Raises:
        NotFoundError: for 404 and 410.
        InputError: for what a retry would not mend.
        _TransientError: for what it might.
    """
    if not url.startswith(("https://", "http://")):
        raise InputError(f"'{url}' is no http or https address")
    identity = {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"}
    with _connections(url) as connections:
        try:
            response = connections.request(
                "GET",
                url,
                headers={**identity, **(headers or {})},
                timeout=timeout,
                retries=_RETRY,
                preload_content=False,
            )
        except urllib3.exceptions.LocationValueError as error:
            raise InputError(f"'{url}' is no address: {error}") from error
        except urllib3.exceptions.HTTPError as error:
            reason = str(getattr(error, "reason", None) or error)
            if "CERTIFICATE_VERIFY_FAILED" in reason:
                raise InputError(f"{url}: {reason}") from error
            raise _TransientError(reason) from error
        with response:
            _check_status(url, response)
            yield response


def _connections(url):
    """A pool of connections, through the environment's proxy if it has one."""
    parts = urllib.parse.urlsplit(url)
    proxy = urllib.request.getproxies().get(parts.scheme)
    if proxy and not urllib.request.proxy_bypass(parts.hostname or ""):
        return urllib3.ProxyManager(proxy)
    return urllib3.PoolManager()


def _check_status(url, response):
    """Sorts failures into transient and final; a refused range is neither."""
    status = response.status
    if status in (200, 206, 416):  # The last says: no such range.
        return
    if status in (404, 410):
        raise NotFoundError(f"{url}: not found ({status})")
    told = f"the server answered {status} {response.reason or ''}".rstrip()
    if status not in _TRANSIENT_STATUSES:
        raise InputError(f"{url}: {told}")
    wait = response.headers.get("Retry-After", "")
    raise _TransientError(told, float(wait) if wait.isdigit() else None)


def _chunks(response) -> Iterator[bytes]:
    """The body; failures of the network are told from those of the disk."""
    try:
        # `read` would keep back, and lose, what came before a cut.
        while chunk := response.read1(_CHUNK_BYTES, False):
            yield chunk
    except urllib3.exceptions.HTTPError as error:
        raise _TransientError(str(error)) from error


def _validator(headers) -> str | None:
    """What `If-Range` may carry: a strong ETag, or else the date."""
    etag = headers.get("ETag", "")
    if etag and not etag.startswith("W/"):
        return etag
    return headers.get("Last-Modified")
