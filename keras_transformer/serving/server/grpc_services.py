"""TensorFlow Serving's gRPC services, and the standard one of health."""

import contextlib
import time
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeoutError

import grpc
from tensorflow_serving.apis import (
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from keras_transformer.contract.errors import (
    Code,
    ServingError,
    as_serving_error,
    invalid_argument,
)
from keras_transformer.contract.tensor_protos import fill_tensor
from keras_transformer.contract.tensors import check_names, count_rows
from keras_transformer.serving.server.access_log import Entry
from keras_transformer.serving.server.batch_task import (
    client_gone,
    deadline_exceeded,
)
from keras_transformer.serving.server.core import SIGNATURE_DEF, Core
from keras_transformer.serving.server.limits import Slots

_GRPC_CODES = {code.value[0]: code for code in grpc.StatusCode}


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Predict and GetModelMetadata; the others are UNIMPLEMENTED.

    Args:
        core: the parts that answer requests.
    """

    def __init__(self, core: Core):
        self._core = core
        self._slots = Slots(core.limits.max_requests)

    def Predict(self, request, context):  # noqa: N802
        with _answering(self._core, "Predict", request, context) as entry:
            with self._slots.one():
                response = self._predict(request, context, entry)
            entry.bytes_out = response.ByteSize()
            return response

    def GetModelMetadata(self, request, context):  # noqa: N802
        with _answering(self._core, "GetModelMetadata", request, context):
            if not request.metadata_field:
                raise invalid_argument(
                    "GetModelMetadataRequest must specify at least one "
                    "metadata_field"
                )
            for field in request.metadata_field:
                if field != SIGNATURE_DEF:
                    raise invalid_argument(
                        f"Metadata field {field} is not supported"
                    )
            return self._core.metadata(*_spec(request))

    def _predict(self, request, context, entry):
        handle = self._core.store.acquire(*_spec(request))
        try:
            entry.version = handle.servable.version
            signature = request.model_spec.signature_name or "serving_default"
            entry.signature = signature
            definition = handle.servable.signature(signature)
            outputs = _outputs(request.output_filter, definition)
            # Before arrays are made of more than there are.
            check_names(definition, request.inputs)
            inputs = {
                name: self._core.limits.array(name, tensor)
                for name, tensor in request.inputs.items()
            }
            entry.rows = count_rows(inputs)
            if self._core.log.with_text:
                entry.text = _texts(inputs)
        except BaseException:
            handle.release()
            raise
        seconds = _seconds(context)
        future = self._core.submit(handle, signature, inputs, outputs, seconds)
        arrays = _result(future, context, seconds)
        response = predict_pb2.PredictResponse()
        response.model_spec.name = request.model_spec.name
        response.model_spec.version.value = entry.version
        response.model_spec.signature_name = signature
        for name, array in arrays.items():
            fill_tensor(response.outputs[name], array)
        return response


class ModelService(model_service_pb2_grpc.ModelServiceServicer):
    """GetModelStatus; reloading the configuration is UNIMPLEMENTED.

    Args:
        core: the parts that answer requests.
    """

    def __init__(self, core: Core):
        self._core = core

    def GetModelStatus(self, request, context):  # noqa: N802
        with _answering(self._core, "GetModelStatus", request, context):
            return self._core.status(*_spec(request))


@contextlib.contextmanager
def _answering(core, api, request, context):
    """Ends a call with the code of what went wrong, and logs it."""
    entry = Entry("GRPC", api=api, peer=context.peer() or "")
    entry.bytes_in = request.ByteSize()
    entry.model = request.model_spec.name
    failure = None
    try:
        yield entry
    # Whatever it is, the client gets an answer without a traceback.
    except Exception as error:
        failure = as_serving_error(error)
        entry.code, entry.error = failure.code, failure.message
    entry.seconds = time.perf_counter() - entry.began
    core.record(entry)
    if failure is not None:
        context.abort(_GRPC_CODES[failure.code], failure.message)


def _spec(request):
    """Name, version and label of a request."""
    if not request.HasField("model_spec"):
        raise invalid_argument("Missing ModelSpec")
    spec = request.model_spec
    version = spec.version.value if spec.HasField("version") else None
    return spec.name, version, spec.version_label


def _texts(inputs):
    """The strings of a request, for the log."""
    return {
        name: [text.decode("utf-8", "replace") for text in array.reshape(-1)]
        for name, array in inputs.items()
        if array.dtype.kind == "O"
    }


def _seconds(context):
    """Until the client's deadline; None where it has none."""
    seconds = context.time_remaining()
    # gRPC says that there is none by a time in the next centuries.
    return None if seconds is None or seconds > 1e6 else max(0.0, seconds)


def _result(future, context, seconds):
    """The outputs, unless the client goes away or runs out of time."""
    context.add_callback(future.cancel)
    try:
        return future.result(seconds)
    except FutureTimeoutError:
        raise deadline_exceeded() from None
    except CancelledError:
        # gRPC calls back at the deadline, too.
        if context.time_remaining() > 0:
            raise client_gone() from None
        raise deadline_exceeded() from None


def _outputs(wanted, signature):
    """The names in an output filter; none means all."""
    names = tuple(wanted)
    for name in names:
        if name not in signature.outputs:
            expected = ",".join(sorted(signature.outputs))
            raise ServingError(
                Code.INVALID_ARGUMENT,
                f"output tensor alias not found in signature: {name} Outputs "
                f"expected to be in the set {{{expected}}}.",
            )
        if names.count(name) > 1:
            raise invalid_argument(f"duplicate output tensor alias: {name}")
    return names
