"""gRPC transport: client of TensorFlow Serving's services.

Needs only grpcio and protobuf: the messages are declared in
`contract.protobuf`, so TensorFlow isn't imported.
"""

import time

from keras_transformer.contract import protobuf
from keras_transformer.contract.status import Code, VersionState
from keras_transformer.errors import not_installed
from keras_transformer.serving.client.request_errors import (
    InvalidRequestError,
    RequestError,
    ServerFailedError,
    deadline_error,
    request_error,
)
from keras_transformer.serving.client.transport import (
    Target,
    VersionStatus,
    longest_answer,
    seconds_of,
)

_OPTIONS = [
    # The default of 4 MB is too small for "align". All requests of a channel
    # share one limit: that of 64 texts, the maximum in `batching.config`.
    ("grpc.max_receive_message_length", longest_answer(64)),
    # Reconnects soon after a server restarts; by default waits grow to minutes.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
    # If a name has several addresses, such as all pods of a service, requests
    # are distributed among them; the name is resolved again when one is lost.
    ("grpc.lb_policy_name", "round_robin"),
    ("grpc.dns_min_time_between_resolutions_ms", 1000),
    # Connections are direct, as over REST.
    ("grpc.enable_http_proxy", 0),
]
_PUSHBACK = "grpc-retry-pushback-ms"


class GrpcTransport:
    """Requests over an HTTP/2 connection to each address; see `Transport`.

    Args:
        target: the model.

    Raises:
        InputError: grpcio isn't installed.
    """

    def __init__(self, target: Target) -> None:
        try:
            import grpc
        except ImportError:
            other = "or http:// and the REST port"
            raise not_installed("grpcio", "serving", other) from None
        self._target, self._grpc = target, grpc
        if target.encrypted:
            credentials = grpc.ssl_channel_credentials()
            self._channel = grpc.secure_channel(
                target.address, credentials, _OPTIONS
            )
        else:
            self._channel = grpc.insecure_channel(target.address, _OPTIONS)
        self._predict = self._method("PredictionService/Predict", "Predict")
        self._status = self._method(
            "ModelService/GetModelStatus", "GetModelStatus"
        )

    def predict(
        self, signature: str, inputs: dict, deadline: float
    ) -> dict[str, list]:
        """See `Transport.predict`."""
        request = protobuf.message("PredictRequest")(
            model_spec=self._spec(signature)
        )
        for name, texts in inputs.items():
            request.inputs[name].CopyFrom(protobuf.string_tensor(texts))
        rows = max(map(len, inputs.values()), default=0)
        response = self._call(self._predict, request, deadline)
        try:
            return {
                name: protobuf.tensor_values(tensor, rows)
                for name, tensor in response.outputs.items()
            }
        except ValueError as error:
            message = f"an output can't be read: {error}"
            where = str(self._target)
            raise ServerFailedError(Code.UNKNOWN, message, where) from None

    def versions(self, deadline: float) -> list[VersionStatus]:
        """See `Transport.versions`."""
        request = protobuf.message("GetModelStatusRequest")(
            model_spec=self._spec()
        )
        response = self._call(self._status, request, deadline)
        names = {state.value: state.name for state in VersionState}
        return [
            VersionStatus(
                row.version,
                names.get(row.state, "UNKNOWN"),
                row.status.error_message,
            )
            for row in response.model_version_status
        ]

    def close(self) -> None:
        """See `Transport.close`."""
        self._channel.close()

    def _method(self, path, name):
        return self._channel.unary_unary(
            f"/tensorflow.serving.{path}",
            protobuf.message(f"{name}Request").SerializeToString,
            protobuf.message(f"{name}Response").FromString,
        )

    def _spec(self, signature=""):
        target = self._target
        spec = protobuf.message("ModelSpec")(
            name=target.model,
            signature_name=signature,
            version_label=target.label,
        )
        if target.version is not None:
            spec.version.value = target.version
        return spec

    def _call(self, method, request, deadline):
        where = str(self._target)
        seconds = deadline - time.monotonic()
        if seconds <= 0:
            raise deadline_error(where)
        try:
            return method(request, timeout=seconds)
        except self._grpc.RpcError as error:
            raise _request_error(error, where) from None
        # Raised by a closed channel.
        except ValueError as error:
            text = str(error)
            raise request_error(Code.CANCELLED, text, where) from None


def _request_error(error, where) -> RequestError:
    code = Code(error.code().value[0])
    message = " ".join((error.details() or "").split()) or "no message"
    # gRPC's message for exceeding a size limit, where a retry can't help.
    if code is Code.RESOURCE_EXHAUSTED and "larger than max" in message:
        # The limit of an answer is this client's.
        is_answer = "CLIENT: Received" in message
        kind = ServerFailedError if is_answer else InvalidRequestError
        return kind(code, message, where)
    metadata = dict(error.trailing_metadata() or ())
    wait = seconds_of(metadata.get(_PUSHBACK), 1000)
    return request_error(code, message, where, None, wait)
