"""TensorFlow Serving's REST API, from the client's side."""

import email.utils
import http.client
import json
import time
import urllib.parse

from keras_transformer.contract.status import Code, code_of_http
from keras_transformer.serving.client.connections import Connections
from keras_transformer.serving.client.request_errors import (
    ServerFailedError,
    deadline_error,
    request_error,
)
from keras_transformer.serving.client.transport import Target, VersionStatus


class RestTransport:
    """Requests over HTTP/1.1; see `Transport`.

    Args:
        target: the model.
    """

    def __init__(self, target: Target):
        self._target = target
        self._connections = Connections(target)
        self._output_names: dict[str, list[str]] = {}
        self._path = _path(target)

    def predict(
        self, signature: str, inputs: dict, deadline: float
    ) -> dict[str, list]:
        """See `Transport.predict`."""
        body = json.dumps(
            {"signature_name": signature, "inputs": inputs}, ensure_ascii=False
        )
        # What was read with surrogateescape holds what UTF-8 can't.
        encoded = body.encode("utf-8", "replace")
        answer = self._ask("POST", ":predict", encoded, deadline)
        if "outputs" not in answer:
            raise self._senseless(answer)
        outputs = answer["outputs"]
        if isinstance(outputs, dict):
            return outputs
        # The only output of a signature comes without its name.
        return {self._output_name(signature, deadline): outputs}

    def versions(self, deadline: float) -> list[VersionStatus]:
        """See `Transport.versions`."""
        answer = self._ask("GET", "", None, deadline)
        try:
            return [
                VersionStatus(
                    int(row["version"]),
                    row["state"],
                    row.get("status", {}).get("error_message", ""),
                )
                for row in answer["model_version_status"]
            ]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise self._senseless(answer) from None

    def close(self):
        """See `Transport.close`."""
        self._connections.close()

    def _output_name(self, signature, deadline):
        """The name of a signature's only output, by the server's metadata."""
        if signature not in self._output_names:
            answer = self._ask("GET", "/metadata", None, deadline)
            try:
                definition = answer["metadata"]["signature_def"]
                outputs = definition["signature_def"][signature]["outputs"]
                (self._output_names[signature],) = outputs
            except (KeyError, TypeError, ValueError):
                raise self._senseless(answer) from None
        return self._output_names[signature]

    def _ask(self, method, what, body, deadline):
        """The JSON object of a good answer."""
        where = str(self._target)
        try:
            status, headers, text = self._connections.exchange(
                method, self._path + what, body, deadline
            )
        except TimeoutError:
            raise deadline_error(where) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error)
            reason = reason or type(error).__name__
            message = f"no answer: {reason}"
            raise request_error(Code.UNAVAILABLE, message, where) from None
        try:
            answer = json.loads(text.decode("utf-8", "replace"))
        except ValueError:
            answer = text.decode("utf-8", "replace")
        if status == 200 and isinstance(answer, dict):
            return answer
        if status == 200:
            raise self._senseless(answer)
        # A proxy's page isn't JSON.
        told = answer["error"] if _tells_error(answer) else _short(answer)
        wait = _seconds_to_wait(headers.get("Retry-After"))
        code = code_of_http(status)
        raise request_error(code, told, where, status, wait)

    def _senseless(self, answer):
        message = f"not an answer of TensorFlow Serving's: {_short(answer)}"
        where = str(self._target)
        return ServerFailedError(Code.UNKNOWN, message, where, 200)


def _path(target):
    """Up to the version, as a URL has it."""
    parts = [target.path, "/v1/models/", _quoted(target.model)]
    if target.version is not None:
        parts.append(f"/versions/{target.version}")
    if target.label:
        parts.append(f"/labels/{_quoted(target.label)}")
    return "".join(parts)


def _quoted(name):
    return urllib.parse.quote(name, safe="")


def _tells_error(answer):
    return isinstance(answer, dict) and isinstance(answer.get("error"), str)


def _short(answer):
    """An answer in one line, as far as a person wants to read it."""
    return " ".join(str(answer).split())[:200] or "nothing"


def _seconds_to_wait(text):
    """What a header `Retry-After` says: seconds, or a date; else None."""
    if text is None:
        return None
    if text.strip().isdigit():
        return float(text)
    try:
        when = email.utils.parsedate_to_datetime(text).timestamp()
    except ValueError:
        return None
    return max(0.0, when - time.time())
