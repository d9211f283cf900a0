"""Embedded server: models, queues and both ports in one process."""

import asyncio
import contextlib
import dataclasses
import errno
import functools
import logging
import pathlib
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import uvicorn

from keras_transformer.contract.layout import WARMUP
from keras_transformer.contract.status import ServingError
from keras_transformer.errors import InputError
from keras_transformer.exporting.ctranslate2_session import CTranslate2Session
from keras_transformer.serving.server.admission import Limits
from keras_transformer.serving.server.batching import Batcher
from keras_transformer.serving.server.config_files import (
    BatchingParameters,
    ModelConfig,
    read_model_configs,
)
from keras_transformer.serving.server.core import Core
from keras_transformer.serving.server.engines import (
    CTRANSLATE2,
    EMBEDDED,
    require_engine_for,
)
from keras_transformer.serving.server.grpc_server import grpc_server
from keras_transformer.serving.server.health import HealthService
from keras_transformer.serving.server.http_protocol import (
    ConnectionLimits,
    limited_protocol,
)
from keras_transformer.serving.server.loading import require_regular_files
from keras_transformer.serving.server.log_stream import DROPPED_LINES, LogStream
from keras_transformer.serving.server.middleware import (
    AllowedHosts,
    default_hosts,
)
from keras_transformer.serving.server.model_store import ModelStore
from keras_transformer.serving.server.monitoring import AccessLog, Metrics
from keras_transformer.serving.server.rest import rest_application
from keras_transformer.serving.server.servable import (
    Servable,
    replay_full_batches,
)
from keras_transformer.system.machine import files_left, usable_cores

# Maximum connections: waiting to be accepted over REST, and open over REST and
# gRPC each.
_BACKLOG = 1024
_MAX_CONNECTIONS = 4096
# Timeout of idle connections. It is longer than that of load balancers, which
# otherwise might send a request over a connection that was just closed.
_KEEP_ALIVE_SECONDS = 620
# Errors of accepting a connection without resources.
_NO_FILES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
# Seconds in addition to those to drain, for threads that are about to end.
_LATE = 2.0
# Rows of a batch that is run at the start, if `max_batch_size` isn't smaller.
_WARMUP_ROWS = 64


@dataclasses.dataclass(frozen=True)
class ServerOptions:
    """Options of a server: models, addresses and limits.

    Attributes:
        models: the models to serve, if `config_file` is None.
        config_file: a `ModelServerConfig`, read again at every poll.
        host: address to bind to.
        port: port of gRPC; 0: any free port; None: no gRPC.
        rest_port: port of REST; the same values as `port`.
        batching: bool, whether to batch requests.
        parameters: parameters of batches and queues.
        limits: limits of a request.
        poll_seconds: seconds between polls of the folders; 0: only one poll.
        intra_op_threads: threads within one operation; 0: the number of cores
            divided by the number of workers.
        load_seconds: time limit for loading a version.
        drain_seconds: time for requests in flight when the server stops.
        access_log: bool, whether to log requests.
        log_text: bool, whether to log their text, too.
        page: bool, whether to serve a web page at `/` of the REST port.
        allowed_hosts: host names that REST requests may have; None: this
            machine's if only it can connect, otherwise any.
        engine: the engine of the models: `EMBEDDED` (TensorFlow in this
            process) or `CTRANSLATE2`.
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
    load_seconds: float = 600.0
    drain_seconds: float = 30.0
    access_log: bool = True
    log_text: bool = False
    page: bool = True
    allowed_hosts: Sequence[str] | None = None
    engine: str = EMBEDDED

    def __post_init__(self) -> None:
        if self.load_seconds <= 0:
            raise InputError(
                "load_seconds must be greater than 0. Received: "
                f"{self.load_seconds}"
            )


class Server:
    """Server of models over REST and gRPC.

    Args:
        options: a `ServerOptions`.
        log: called with a line for each event.

    Attributes:
        core: the parts that answer requests.
        port: port of gRPC, once started; None without gRPC.
        rest_port: port of REST, once started; None without REST.

    Raises:
        InputError: the file of models can't be read, or an allowed host isn't a
            valid host name.
    """

    def __init__(
        self,
        options: ServerOptions,
        log: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._options = options
        self._log = log
        self._grpc: Any = None
        self._rest: Any = None
        self._rest_thread: Any = None
        self._socket: Any = None
        self._grpc_socket: Any = None
        self.port: int | None = None
        self.rest_port: int | None = None
        metrics = Metrics()
        if isinstance(sys.stderr, LogStream):
            metrics.follow(DROPPED_LINES, sys.stderr.dropped)
        # Raises errors in these options before anything starts.
        self._models()
        AllowedHosts(options.allowed_hosts or ())
        self.core = Core(
            ModelStore(
                self._models,
                self._load,
                options.poll_seconds,
                load_seconds=options.load_seconds,
                log=log,
            ),
            Batcher(_parameters(options), options.batching, metrics.batch),
            options.limits,
            metrics,
            AccessLog(options.access_log, options.log_text),
        )
        self._health = HealthService()

    def start(self) -> None:
        """Binds the ports, loads the models, and starts to answer.

        Raises:
            InputError: a port is in use, or a model has no version that can be
                loaded.
        """
        try:
            self._bind()
            self.core.store.start()
            self._check_models()
            if self._options.batching:
                self._run_full_batches()
            if self._socket is not None:
                self._start_rest()
            if self._grpc is not None:
                self._start_grpc()
        except BaseException:
            self.stop(0)
            raise
        self._health.start()

    def stop(self, seconds: float | None = None) -> None:
        """Refuses new requests, answers those in flight, and unloads.

        Args:
            seconds: time for those in flight; None: `drain_seconds`.
        """
        seconds = self._options.drain_seconds if seconds is None else seconds
        end = time.monotonic() + seconds
        late = end + _LATE
        self._health.enter_graceful_shutdown()
        stopped = self._grpc.stop(seconds) if self._grpc else None
        self._health.end_watching()
        if self._rest is not None:
            self._rest.config.timeout_graceful_shutdown = seconds
            self._rest.should_exit = True
            self._rest_thread.join(late - time.monotonic())
        if stopped is not None:
            stopped.wait(max(0.0, late - time.monotonic()))
        self.core.batcher.close(max(0.0, end - time.monotonic()))
        self.core.store.close(max(_LATE, end - time.monotonic()))
        for bound in (self._socket, self._grpc_socket):
            if bound is not None:
                bound.close()

    def _models(self):
        if self._options.config_file is None:
            return list(self._options.models)
        return read_model_configs(self._options.config_file)

    def _load(self, name, version, folder):
        # With a worker for each core, an operation with more threads would wait
        # for cores that run other batches.
        workers = self._options.parameters.num_batch_threads
        threads = self._options.intra_op_threads
        threads = threads or max(1, usable_cores() // workers)
        require_regular_files(folder)
        require_engine_for(folder, self._options.engine)
        if self._options.engine != CTRANSLATE2:
            return Servable(name, version, folder, threads)
        open_session = functools.partial(CTranslate2Session, workers=workers)
        return Servable(name, version, folder, threads, open_session)

    def _check_models(self):
        """Refuses to start with a missing model, like TensorFlow Serving."""
        for config in self._models():
            if self.core.store.is_available(config.name):
                continue
            try:
                number, _, error = self.core.store.states(config.name)[0]
            except Exception:
                accepted = "a folder that holds version folders such as 1, "
                if self._options.engine == CTRANSLATE2:
                    accepted += "or what `export --format ctranslate2` wrote"
                else:
                    accepted += "not one of these"
                raise InputError(
                    f"{config.base_path}: no version of {config.name} to "
                    f"serve. Accepted: {accepted}"
                ) from None
            folders = config.version_folders()
            folder = folders.get(number, config.base_path / str(number))
            raise InputError(f"{folder}: not loaded: {error}")

    def _run_full_batches(self):
        """Allocates the memory that heavy traffic will need.

        Done only at the start: later versions are loaded while the server
        answers.
        """
        parameters = self._options.parameters
        rows = min(parameters.max_batch_size, _WARMUP_ROWS)
        threads = parameters.num_batch_threads
        for config in self._models():
            with (
                # The version may have been unloaded meanwhile.
                contextlib.suppress(ServingError),
                self.core.store.acquire(config.name) as handle,
            ):
                records = handle.servable.folder / WARMUP
                if records.is_file():
                    replay_full_batches(records, handle.servable, rows, threads)

    def _bind(self):
        """Binds the ports without listening yet."""
        options = self._options
        if options.rest_port is not None:
            self._socket = _bound(
                options.host, options.rest_port, "--rest_api_port"
            )
            self.rest_port = self._socket.getsockname()[1]
        if options.port is not None:
            self._grpc_socket = _bound(options.host, options.port, "--port")
            self.port = self._grpc_socket.getsockname()[1]
            # Of the remaining file descriptors, half are for REST and a quarter
            # for models.
            most = max(1, min(_MAX_CONNECTIONS, files_left() // 4))
            self._grpc = grpc_server(self.core, self._health, most)

    def _start_rest(self):
        limits = self._options.limits
        # uvicorn logs a warning for every client that doesn't speak HTTP.
        logging.getLogger("uvicorn").setLevel(logging.ERROR)
        # The other descriptors are for gRPC, see `_bind`, and for models.
        most = max(1, min(_MAX_CONNECTIONS, files_left() // 2))
        connections = ConnectionLimits(
            limits.receive_seconds, most, self.core.record
        )
        config = uvicorn.Config(
            rest_application(self.core, self._hosts(), self._options.page),
            # uvicorn also accepts a factory.
            http=limited_protocol(connections),  # type: ignore[arg-type]
            loop="asyncio",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,  # Any client could forge them.
            backlog=_BACKLOG,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        )
        self._rest = _RestServer(config, self._log)
        self._rest_thread = threading.Thread(
            target=functools.partial(self._rest.run, sockets=[self._socket]),
            name="rest",
            daemon=True,
        )
        self._rest_thread.start()
        while not self._rest.started and self._rest_thread.is_alive():
            time.sleep(0.01)
        if not self._rest.started:
            raise InputError(f"REST could not start on port {self.rest_port}")

    def _hosts(self):
        names = self._options.allowed_hosts
        if names is None:
            bound_to = self._socket.getsockname()[0]
            names = default_hosts(bound_to, self._options.host)
        return AllowedHosts(names)

    def _start_grpc(self):
        options = self._options
        host = f"[{options.host}]" if ":" in options.host else options.host
        # gRPC binds and listens only now, so that clients are refused while
        # models load.
        self._grpc_socket.close()
        try:
            self._grpc.add_insecure_port(f"{host}:{self.port}")
        except RuntimeError:
            raise InputError(
                f"{host}:{self.port} can't be bound to: it is in use. "
                "Accepted: another --port"
            ) from None
        self._grpc.start()


class _RestServer(uvicorn.Server):
    """uvicorn server that logs only once that too many files are open.

    asyncio accepts many connections before any is closed again. Without file
    descriptors it retries a thousand times, each with a traceback, and again a
    second later, even if the server has stopped since.

    Args:
        config: a `uvicorn.Config`.
        log: called with the line.
    """

    def __init__(self, config, log):
        super().__init__(config)
        self._log = log

    async def serve(self, sockets=None):
        asyncio.get_running_loop().set_exception_handler(self._note)
        await super().serve(sockets)

    def _note(self, loop, context):
        error = context.get("exception")
        if getattr(error, "errno", None) in _NO_FILES:
            self._log(f"connections have to wait: {error.strerror}")
            self._log = lambda line: None
        elif not (self.should_exit and "_start_serving" in context["message"]):
            loop.default_exception_handler(context)


def _bound(host, port, option):
    """Binds a socket, which refuses clients as long as it doesn't listen."""
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )[0]
        with contextlib.ExitStack() as stack:
            bound = stack.enter_context(socket.socket(family))
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
            stack.pop_all()  # Keeps the socket open.
    except (OSError, OverflowError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        unknown = isinstance(error, socket.gaierror | UnicodeError)
        if unknown or getattr(error, "errno", 0) == errno.EADDRNOTAVAIL:
            option = "--host"
        raise InputError(
            f"{host}:{port} can't be bound to: {reason}. Accepted: another "
            f"{option}"
        ) from None
    return bound


def _parameters(options):
    """Returns the queues' parameters; without batching they count requests."""
    if options.batching:
        return options.parameters
    return dataclasses.replace(
        options.parameters, max_enqueued_batches=options.limits.max_requests
    )
