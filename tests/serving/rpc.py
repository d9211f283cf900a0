"""Calls to predict over gRPC, for tests."""

import grpc
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc


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


def channel_to(server):
    """A channel to a server of this process."""
    return grpc.insecure_channel(f"127.0.0.1:{server.port}")
