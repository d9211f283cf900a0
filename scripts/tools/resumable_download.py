"""Downloads one file so that a cut connection costs nothing twice.

Standard library only, so that it runs before anything is installed. The bytes
go to `NAME.part`; `NAME.part.json` beside it keeps the address and what the
server called this version of the file (its ETag or date). A later attempt, in
this run or the next, asks for the rest with `Range` and `If-Range`, and starts
again if the server sends something else. `NAME` appears only when complete.
"""

import hashlib
import http.client
import json
import os
import re
import ssl
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

# Some sites refuse clients that don't name themselves.
USER_AGENT = "keras-transformer-download/1 (corpus download; Python urllib)"
CHUNK_BYTES = 1 << 16
TRANSIENT_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
LONGEST_WAIT_SECONDS = 60.0


class DownloadError(Exception):
    """One line for a person: what failed, where, and what can be done."""


class NotFoundError(DownloadError):
    """The server says that there is no such file."""


class _TransientError(Exception):
    """Worth another attempt; `wait` is what the server asked for, if it did."""

    def __init__(self, reason: str, wait: float | None = None):
        super().__init__(reason)
        self.wait = wait


class _RangeRefusedError(_TransientError):
    """The server has nothing from this byte on: the part is of no use."""


class Progress:
    """A bar on a terminal, a line per tenth (or per 30 s) in a log."""

    def __init__(self, name: str, stream=None):
        self._name = name
        self._stream = stream or sys.stderr
        self._is_terminal = self._stream.isatty()
        self._last_time = time.monotonic()
        self._last_tenth = -1
        self._open_line = False

    def update(self, done: int, total: int | None) -> None:
        now = time.monotonic()
        share = done / total if total else 0.0
        if self._is_terminal:
            if now - self._last_time < 0.2 and done != total:
                return
            text = (
                f"\r{self._name} {self._bar(share)} {self._sizes(done, total)}"
            )
            self._stream.write(text + "\033[K")
            self._open_line = True
        else:
            tenth = int(share * 10)
            if tenth <= self._last_tenth and now - self._last_time < 30.0:
                return
            self._last_tenth = tenth
            self._stream.write(f"{self._name}: {self._sizes(done, total)}\n")
        self._last_time = now
        self._stream.flush()

    def message(self, text: str) -> None:
        """Writes a line of its own."""
        self.close()
        self._stream.write(f"{text}\n")
        self._stream.flush()

    def close(self) -> None:
        """Ends the line that the bar stands on."""
        if self._open_line:
            self._stream.write("\n")
            self._open_line = False

    @staticmethod
    def _bar(share: float, width: int = 24) -> str:
        filled = int(share * width)
        return "[" + "#" * filled + "." * (width - filled) + "]"

    @staticmethod
    def _sizes(done: int, total: int | None) -> str:
        if not total:
            return f"{done / 1e6:.1f} MB"
        return f"{done / total:4.0%} of {total / 1e6:.1f} MB"


class _Partial:
    """The `.part` file and the note about what it is a part of."""

    def __init__(self, destination: Path, url: str):
        self.path = destination.with_name(destination.name + ".part")
        self._note = destination.with_name(destination.name + ".part.json")
        self._url = url

    def resume_point(self) -> tuple[int, str | None]:
        """Returns the bytes that can be kept and their server's validator."""
        try:
            note = json.loads(self._note.read_text(encoding="utf-8"))
            validator = note["validator"]
            if note["url"] != self._url or not isinstance(validator, str):
                return 0, None
            return self.path.stat().st_size, validator
        except (OSError, ValueError, KeyError, TypeError):
            return 0, None

    def begin(self, validator: str | None) -> None:
        """Notes what is about to be written from its first byte."""
        self.path.unlink(missing_ok=True)
        note = {"url": self._url, "validator": validator}
        self._note.write_text(json.dumps(note), encoding="utf-8")

    def publish(self, destination: Path) -> None:
        os.replace(self.path, destination)
        self._note.unlink(missing_ok=True)

    def discard(self) -> None:
        self.path.unlink(missing_ok=True)
        self._note.unlink(missing_ok=True)


def open_url(url: str, timeout: float, headers: dict | None = None):
    """Opens an http(s) address; sorts failures into transient and final.

    Raises:
        NotFoundError: for 404 and 410.
        DownloadError: for what another attempt would not mend.
        _TransientError: for what it might.
    """
    if not url.startswith(("https://", "http://")):
        raise DownloadError(f"'{url}' is no http or https address")
    headers = {
        "User-Agent": USER_AGENT,
        "Accept-Encoding": "identity",
        **(headers or {}),
    }
    try:
        request = urllib.request.Request(url, headers=headers)
        return urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 416:
            raise _RangeRefusedError(
                "the server cannot go on from here"
            ) from error
        if error.code in (404, 410):
            raise NotFoundError(f"{url}: not found ({error.code})") from error
        if error.code in TRANSIENT_STATUSES:
            wait = error.headers.get("Retry-After", "")
            raise _TransientError(
                f"the server answered {error.code} {error.reason}",
                float(wait) if wait.isdigit() else None,
            ) from error
        raise DownloadError(
            f"{url}: the server answered {error.code} {error.reason}"
        ) from error
    except urllib.error.URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            raise DownloadError(f"{url}: {error.reason}") from error
        raise _TransientError(str(error.reason)) from error
    except ValueError as error:  # http.client.InvalidURL is one too
        raise DownloadError(f"'{url}' is no address: {error}") from error
    except (OSError, http.client.HTTPException) as error:
        raise _TransientError(_describe(error)) from error


def fetch_text(url: str, timeout: float, attempts: int) -> str:
    """Returns a small UTF-8 document, at most 1 MiB of it."""

    def read() -> str:
        with open_url(url, timeout) as response:
            return _read(response, 1 << 20).decode("utf-8", "replace")

    return _with_retries(read, url, attempts, Progress(url))


def download(
    url: str,
    destination: Path,
    *,
    sha256: str | None = None,
    timeout: float = 30.0,
    attempts: int = 5,
) -> str:
    """Downloads `url` to `destination`, going on where an attempt stopped.

    Args:
        url: An http or https address.
        destination: The file to make; its folder exists.
        sha256: The digest that the file has to have, if it is known.
        timeout: Seconds without an answer or a byte before giving up.
        attempts: Attempts in a row that may bring nothing new.

    Returns:
        The SHA-256 of the file, in hexadecimal.

    Raises:
        DownloadError: if the file cannot be had, or is not the one expected.
    """
    partial = _Partial(destination, url)
    progress = Progress(destination.name)
    try:
        _with_retries(
            lambda: _attempt(url, partial, timeout, progress),
            url,
            attempts,
            progress,
            progress_made=lambda: partial.resume_point()[0],
        )
    finally:
        progress.close()
    digest = file_sha256(partial.path)
    if sha256 is not None and digest != sha256.lower():
        partial.discard()
        raise DownloadError(
            f"{url}: SHA-256 is {digest}, expected {sha256.lower()}; "
            "nothing was kept"
        )
    partial.publish(destination)
    return digest


def file_sha256(path: Path) -> str:
    """Returns the SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _with_retries(action, url, attempts, progress, progress_made=lambda: 0):
    """Repeats `action` while it fails in passing, ever more slowly."""
    failures = 0
    while True:
        before = progress_made()
        try:
            return action()
        except _TransientError as error:
            failures = 1 if progress_made() > before else failures + 1
            if failures >= attempts:
                raise DownloadError(
                    f"{url}: {error} (attempts: {failures}); "
                    "the same command goes on from here"
                ) from error
            wait = error.wait if error.wait is not None else 2.0**failures / 2
            wait = min(wait, LONGEST_WAIT_SECONDS)
            progress.message(f"{error}; trying again in {wait:.0f} s")
            time.sleep(wait)


def _attempt(url, partial, timeout, progress) -> None:
    """Brings the partial file to its end, or fails on the way."""
    offset, validator = partial.resume_point()
    headers = {}
    if offset:
        headers = {"Range": f"bytes={offset}-", "If-Range": validator}
    try:
        response = open_url(url, timeout, headers)
    except _RangeRefusedError:
        partial.discard()
        raise
    with response:
        length = response.headers.get("Content-Length", "")
        remaining = int(length) if length.isdigit() else None
        if response.status == 206:
            if _range_start(response.headers) != offset:
                partial.discard()
                raise _TransientError("the server sent another part")
            progress.message(f"Going on after {offset / 1e6:.1f} MB")
        else:
            offset = 0
            partial.begin(_validator(response.headers))
        total = None if remaining is None else offset + remaining
        with open(partial.path, "ab") as file:
            done = _copy(response, file, offset, total, progress)
    if total is not None and done != total:
        raise _TransientError(
            f"the connection ended at {done} of {total} bytes"
        )


def _copy(response, file, done, total, progress) -> int:
    """Appends the body to `file`; returns the bytes that are there now."""
    progress.update(done, total)
    while chunk := _read(response, CHUNK_BYTES):
        file.write(chunk)
        # What has arrived counts, also if the next read fails.
        file.flush()
        done += len(chunk)
        progress.update(done, total)
    return done


def _read(response, size: int) -> bytes:
    """Reads from the network; its failures are told from the disk's."""
    try:
        return response.read(size)
    except (OSError, http.client.HTTPException) as error:
        raise _TransientError(_describe(error)) from error


def _range_start(headers) -> int | None:
    match = re.match(r"bytes (\d+)-\d+/", headers.get("Content-Range", ""))
    return int(match[1]) if match else None


def _validator(headers) -> str | None:
    """What `If-Range` may carry: a strong ETag, or else the date."""
    etag = headers.get("ETag", "")
    if etag and not etag.startswith("W/"):
        return etag
    return headers.get("Last-Modified")


def _describe(error: Exception) -> str:
    return str(error) or type(error).__name__
