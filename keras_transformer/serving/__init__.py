"""A server of SavedModels with TensorFlow Serving's contract, and a client.

The client's names are imported on first use, and without TensorFlow.
"""

import importlib

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


def __getattr__(name):
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f"{__name__}.{_PUBLIC[name]}")
    return getattr(module, name)


def __dir__():
    return sorted(__all__)
