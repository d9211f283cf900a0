"""What the embedded server serves, where, and how much."""

import dataclasses
import pathlib

from keras_transformer.serving.server.batching_parameters import (
    BatchingParameters,
)
from keras_transformer.serving.server.limits import Limits
from keras_transformer.serving.server.model_config import ModelConfig


@dataclasses.dataclass(frozen=True)
class ServerOptions:
    """What the server serves, where, and how much.

    Attributes:
        models: what to serve, if `config_file` is None.
        config_file: a `ModelServerConfig`, read again at every poll.
        host: address to bind to.
        port: of gRPC; 0: any that is free; None: no gRPC.
        rest_port: of REST; the same.
        batching: whether requests are joined.
        parameters: of the queues.
        limits: of a request.
        poll_seconds: between two looks at the folders; 0: one look only.
        intra_op_threads: that an operation uses; 0: what the workers leave
            of the cores to each.
        drain_seconds: given to requests in flight when the server stops.
        access_log: whether requests are logged.
        log_text: whether their text is, too.
        page: whether the REST port has a page for people at `/`.
    """

    models: tuple[ModelConfig, ...] = ()
    config_file: pathlib.Path | None = None
    host: str = "127.0.0.1"
    port: int | None = 8500
    rest_port: int | None = 8501
    batching: bool = False
    parameters: BatchingParameters = dataclasses.field(
        default_factory=BatchingParameters
    )
    limits: Limits = dataclasses.field(default_factory=Limits)
    poll_seconds: float = 1.0
    intra_op_threads: int = 0
    drain_seconds: float = 30.0
    access_log: bool = True
    log_text: bool = False
    page: bool = True
