"""Calls over gRPC, for tests."""

import grpc
import tensorflow as tf
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)


def predict_request(
    signature="", *, name="toy", version=None, label="", outputs=(), **inputs
):
    """A request; each input is a tensor, or values of one."""
    request = predict_pb2.PredictRequest()
    request.model_spec.name = name
    request.model_spec.signature_name = signature
    if version is not None:
        request.model_spec.version.value = version
    if label:
        request.model_spec.version_label = label
    request.output_filter.extend(outputs)
    for key, values in inputs.items():
        request.inputs[key].CopyFrom(tf.make_tensor_proto(values))
    return request


def predict(channel, signature="", *, timeout=30, **options):
    """The answer to a request of `predict_request`'s arguments."""
    stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
    return stub.Predict(predict_request(signature, **options), timeout=timeout)


def status_of(channel, model):
    """The status of a model's versions."""
    request = get_model_status_pb2.GetModelStatusRequest()
    request.model_spec.name = model
    stub = model_service_pb2_grpc.ModelServiceStub(channel)
    return stub.GetModelStatus(request, timeout=30).model_version_status


def metadata_of(channel, *fields):
    """The metadata of the toy model."""
    request = get_model_metadata_pb2.GetModelMetadataRequest()
    request.model_spec.name = "toy"
    request.metadata_field.extend(fields)
    stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
    return stub.GetModelMetadata(request, timeout=30)


def check_health(channel, timeout=20):
    """Asserts that gRPC says that the server is well."""
    check = health_pb2_grpc.HealthStub(channel).Check
    status = check(health_pb2.HealthCheckRequest(), timeout=timeout).status
    assert status == health_pb2.HealthCheckResponse.SERVING


def channel_to(server):
    """A channel to a server of this process."""
    return grpc.insecure_channel(f"127.0.0.1:{server.port}")
