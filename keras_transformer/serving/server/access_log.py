"""One line of JSON for each request, without what it said."""

import contextlib
import dataclasses
import datetime
import json
import sys
import threading
import time

from keras_transformer.contract.errors import Code


@dataclasses.dataclass
class Entry:
    """A request and how it was answered.

    Attributes:
        entry: "REST" or "GRPC".
        api: "Predict", "GetModelStatus" and so on.
        peer: address of the client.
        path: that was asked for.
        model: its name.
        version: that answered, or was asked for.
        signature: name of the signature.
        rows: of the inputs.
        bytes_in: size of the body.
        bytes_out: size of the answer.
        code: `Code` of the answer.
        status: HTTP's; None for gRPC.
        error: message of an error; it may quote the request.
        text: the request's strings, kept only where they are logged.
        began: of `time.perf_counter`, seconds.
        seconds: that it took.
    """

    entry: str
    api: str = ""
    peer: str = ""
    path: str = ""
    model: str = ""
    version: int | None = None
    signature: str = ""
    rows: int | None = None
    bytes_in: int = 0
    bytes_out: int = 0
    code: Code = Code.OK
    status: int | None = None
    error: str = ""
    text: dict | None = None
    began: float = dataclasses.field(default_factory=time.perf_counter)
    seconds: float = 0.0

    def end(self):
        """Takes the time."""
        self.seconds = time.perf_counter() - self.began


class AccessLog:
    """Writes entries as lines of JSON.

    Args:
        enabled: whether at all.
        with_text: also the requests' strings, and the messages of errors,
            which may quote them.
        stream: to write to; `sys.stderr` if omitted.
    """

    def __init__(self, enabled=True, with_text=False, stream=None):
        self.with_text = with_text
        self._enabled = enabled
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, entry: Entry):
        """Writes an entry; fields that say nothing are left out."""
        if not self._enabled:
            return
        now = datetime.datetime.now(datetime.UTC)
        line = {"time": now.isoformat(timespec="milliseconds")}
        for field in dataclasses.fields(entry):
            value = getattr(entry, field.name)
            if value not in (None, ""):
                line[field.name] = value
        del line["began"]
        line["code"] = entry.code.name
        line["seconds"] = round(entry.seconds, 6)
        if not self.with_text:
            line.pop("error", None)
            line.pop("text", None)
        text = json.dumps(line)
        # Requests are answered where the log can't be written, too.
        with self._lock, contextlib.suppress(OSError):
            print(text, file=self._stream or sys.stderr, flush=True)
