"""A server of SavedModels with TensorFlow Serving's contract, and a client.

The client's names are imported on first use, and without TensorFlow.
"""

from typing import TYPE_CHECKING

from keras_transformer.lazy import importer

if TYPE_CHECKING:
    # What checkers and editors read in place of the tables below.
    from keras_transformer.serving.client.backoff import Backoff
    from keras_transformer.serving.client.client import Client
    from keras_transformer.serving.client.request_errors import (
        DeadlineError,
        InvalidRequestError,
        NotFoundError,
        OverloadedError,
        RequestError,
        ServerFailedError,
        UnavailableError,
    )
    from keras_transformer.serving.client.transport import VersionStatus

_PUBLIC = {
    "Backoff": "client.backoff",
    "Client": "client.client",
    "DeadlineError": "client.request_errors",
    "InvalidRequestError": "client.request_errors",
    "NotFoundError": "client.request_errors",
    "OverloadedError": "client.request_errors",
    "RequestError": "client.request_errors",
    "ServerFailedError": "client.request_errors",
    "UnavailableError": "client.request_errors",
    "VersionStatus": "client.transport",
}

__all__ = [
    "Backoff",
    "Client",
    "DeadlineError",
    "InvalidRequestError",
    "NotFoundError",
    "OverloadedError",
    "RequestError",
    "ServerFailedError",
    "UnavailableError",
    "VersionStatus",
]


if not TYPE_CHECKING:  # Checkers would believe any name to be there.
    __getattr__ = importer(__name__, _PUBLIC)


def __dir__() -> list[str]:
    return sorted(__all__)
