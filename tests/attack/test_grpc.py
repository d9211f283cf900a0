"""gRPC under attack: a code that says what was wrong, in time, and no bug.

At the full size 16,000 calls.
"""

import grpc
import pytest
from google.protobuf.message import DecodeError
from hypothesis import given
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    predict_pb2,
)

from tests.attack.examples import attacking
from tests.attack.grpc_grammar import messages
from tests.attack.report import HANG

pytestmark = pytest.mark.slow
PREDICT = "/tensorflow.serving.PredictionService/Predict"
KINDS = {
    PREDICT: predict_pb2.PredictRequest,
    "/tensorflow.serving.PredictionService/GetModelMetadata": (
        get_model_metadata_pb2.GetModelMetadataRequest
    ),
    "/tensorflow.serving.ModelService/GetModelStatus": (
        get_model_status_pb2.GetModelStatusRequest
    ),
}
# What says that the server failed, and not the request.
FAILED = {grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL}


@pytest.fixture
def call(served, watched):
    """Calls a method with bytes: those of the answer, or the error."""
    with served.channel() as channel:

        def called(method, content):
            try:
                with watched.one():
                    return channel.unary_unary(method)(content, timeout=HANG)
            except grpc.RpcError as error:
                watched.count += 1
                return error
            finally:
                watched.look()

        yield called


def is_message(method, content):
    """Whether bytes are a message of the method's kind."""
    if method not in KINDS:
        return method == "/grpc.health.v1.Health/Check" and not content
    try:
        KINDS[method].FromString(content)
    except (DecodeError, UnicodeDecodeError):
        return False
    return True


def test_grpc_calls_by_grammar(share, call):
    @attacking(share(16_000))
    @given(messages())
    def by_grammar(message):
        answer = call(*message)
        if isinstance(answer, bytes):
            return
        said = f"{message[0]}: {answer.code()} {answer.details()[:400]}"
        assert "Traceback" not in answer.details(), said
        assert answer.code() is not grpc.StatusCode.DEADLINE_EXCEEDED, said
        # gRPC itself says INTERNAL of bytes that are no message.
        assert answer.code() not in FAILED or not is_message(*message), said

    by_grammar()
