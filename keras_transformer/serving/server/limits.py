"""What one request may ask for."""

import contextlib
import dataclasses
import math
import threading

import numpy as np
import tensorflow as tf

from keras_transformer.contract.errors import (
    Code,
    ServingError,
    invalid_argument,
)
from keras_transformer.errors import InputError


@dataclasses.dataclass(frozen=True)
class Limits:
    """Sizes above which a request is refused.

    Attributes:
        max_request_bytes: of a request's body.
        max_sentences: rows of a request: the size of any input's first axis.
        max_text_bytes: of one string, in UTF-8.
        max_requests: to predict that are in the server at once, over REST
            and over gRPC; without batching, also those that wait for a
            worker.
        receive_seconds: within which a request has to arrive whole.
        timeout_seconds: within which a REST request is answered.
    """

    max_request_bytes: int = 4 * 2**20
    max_sentences: int = 1024
    max_text_bytes: int = 16384
    max_requests: int = 256
    receive_seconds: float = 10.0
    timeout_seconds: float = 30.0

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value <= 0:
                raise InputError(
                    f"{field.name} must be greater than 0. Received: {value}"
                )

    def check(self, inputs: dict):
        """Refuses arrays that are too large.

        Args:
            inputs: arrays by name.

        Raises:
            ServingError: INVALID_ARGUMENT.
        """
        for name, array in inputs.items():
            rows = array.shape[0] if array.ndim else 1
            if rows > self.max_sentences:
                raise invalid_argument(
                    f"Input {name} has {rows} rows; at most "
                    f"{self.max_sentences} are accepted"
                )
            if array.dtype != object or not array.size:
                continue
            longest = max(map(len, array.reshape(-1)))
            if longest > self.max_text_bytes:
                raise invalid_argument(
                    f"Input {name} has a text of {longest} bytes; at most "
                    f"{self.max_text_bytes} are accepted"
                )

    def array(self, name: str, tensor) -> np.ndarray:
        """The array of a `TensorProto` from a client.

        A few bytes may describe a tensor of any size, since its last value is
        repeated: so its size is checked before it is made. One value for all
        rows is accepted, and otherwise as many as there are bytes.

        Raises:
            ServingError: INVALID_ARGUMENT: it is damaged or too large.
        """
        shape = tensor.tensor_shape
        sizes = [dimension.size for dimension in shape.dim]
        if shape.unknown_rank or any(size < 0 for size in sizes):
            raise invalid_argument(f"Input {name} has no complete shape")
        most = max(tensor.ByteSize(), self.max_sentences)
        if math.prod(sizes) > most:
            raise invalid_argument(
                f"Input {name} has {math.prod(sizes)} elements; at most "
                f"{most} are accepted"
            )
        try:
            array = tf.make_ndarray(tensor)
        # It raises whatever NumPy does: TypeError, ValueError, KeyError...
        except Exception as error:
            reason = str(error).splitlines()[0] if str(error) else "damaged"
            raise invalid_argument(
                f"Input {name} is not a tensor: {reason}"
            ) from None
        if array.dtype == object and array.size:
            wrong = [v for v in array.reshape(-1) if not isinstance(v, bytes)]
            if wrong:
                raise invalid_argument(f"Input {name} is not a tensor: strings")
        return array


class Slots:
    """Places for the requests that are in the server at once.

    Args:
        count: of places.
    """

    def __init__(self, count: int):
        self._free = threading.BoundedSemaphore(count)

    @contextlib.contextmanager
    def one(self):
        """Takes a place for the time of the block.

        Raises:
            ServingError: RESOURCE_EXHAUSTED: none is free.
        """
        if not self._free.acquire(blocking=False):
            raise ServingError(Code.RESOURCE_EXHAUSTED, "Too many requests")
        try:
            yield
        finally:
            self._free.release()
