"""A server of SavedModels with TensorFlow Serving's contract, and a client.

The client's names are imported on first use, and without TensorFlow.
"""

from keras_transformer.lazy import importer

_PUBLIC = {
    "Backoff": "client_retries",
    "Client": "client",
    "DeadlineError": "client_errors",
    "InvalidRequestError": "client_errors",
    "NotFoundError": "client_errors",
    "OverloadedError": "client_errors",
    "RequestError": "client_errors",
    "ServerFailedError": "client_errors",
    "UnavailableError": "client_errors",
    "VersionStatus": "client_transport",
}

__all__ = [*_PUBLIC]


__getattr__ = importer(__name__, _PUBLIC)


def __dir__():
    return sorted(__all__)
