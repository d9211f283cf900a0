"""Public names, which `lazy.public_names` imports on first use."""

from keras_transformer.serving.client.backoff import Backoff as Backoff
from keras_transformer.serving.client.client import Client as Client
from keras_transformer.serving.client.request_errors import (
    DeadlineError as DeadlineError,
    InvalidRequestError as InvalidRequestError,
    NotFoundError as NotFoundError,
    OverloadedError as OverloadedError,
    RequestError as RequestError,
    ServerFailedError as ServerFailedError,
    UnavailableError as UnavailableError,
)
from keras_transformer.serving.client.transport import (
    VersionStatus as VersionStatus,
)
