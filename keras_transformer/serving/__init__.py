"""A server of SavedModels with TensorFlow Serving's contract, and a client.

The client's names are imported on first use, and without TensorFlow.
"""

from keras_transformer.lazy import importer

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

__all__ = [*_PUBLIC]


__getattr__ = importer(__name__, _PUBLIC)


def __dir__():
    return sorted(__all__)
