"""Serves exported models over REST and gRPC, as TensorFlow Serving does.

A server in Python with TensorFlow Serving's interface, also for exports for
CTranslate2. The flags have TensorFlow Serving's names; `export --format
tfserving` writes the files that start TensorFlow Serving itself.

example:
  keras-transformer serve saved_models/en-zh
  keras-transformer serve --engine ctranslate2 ctranslate2/en-zh
  curl -d '{"instances": ["Good morning."]}' \\
      http://127.0.0.1:8501/v1/models/en-zh:predict
"""

from __future__ import annotations

import argparse
import contextlib
import os
import pathlib
import signal
import threading
import time
from typing import TYPE_CHECKING

from keras_transformer.cli.console import load_tensorflow, say
from keras_transformer.cli.options import (
    add_options,
    flag,
    integer,
    seconds,
)
from keras_transformer.errors import InputError, not_installed
from keras_transformer.exporting.ctranslate2_folder import require_ctranslate2
from keras_transformer.exporting.registry.version_folders import (
    absolute,
    version_folders,
)
from keras_transformer.serving.server import engines
from keras_transformer.serving.server.admission import Limits
from keras_transformer.serving.server.log_stream import unblocked_stderr
from keras_transformer.system.machine import (
    allow_many_connections,
    exit_after,
    spare_collections,
)

if TYPE_CHECKING:
    from keras_transformer.serving.server.server import ServerOptions


# Seconds after those to drain until a stopping process is ended.
_GRACE = 5.0
# Options of the embedded server, by the fields of `Limits` and `ServerOptions`.
_LIMITS = {
    "max_request_bytes": "of a request's body",
    "max_sentences": "of a request, and of a text",
    "max_text_bytes": "of one sentence, in UTF-8",
    "max_requests": "to predict at once, REST and gRPC each",
    "max_values": "of a JSON body, or strings over gRPC",
    "max_bytes_in_flight": "of bodies and answers, REST and gRPC each",
    "receive_seconds": "for a request to arrive whole",
    "load_seconds": "for a version to be loaded",
    "drain_seconds": "for requests in flight at the end",
}
# Seconds between checks for a signal.
_TICK = 0.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds all flags, with TensorFlow Serving's names if it has them."""
    models = parser.add_argument_group("what is served")
    models.add_argument(
        "folder",
        nargs="?",
        metavar="FOLDER",
        help="the same as --model_base_path",
    )
    add_options(
        models,
        {
            "--model_base_path FOLDER": "of one model: it holds the version "
            "folders; with --engine ctranslate2 also one export itself, as "
            "version 1",
            "--model_name NAME": "its name in requests (default: the folder's)",
            "--model_config_file FILE": "several models: a ModelServerConfig "
            "text proto",
        },
    )
    poll = "between two looks for new versions; 0: one look (default: 1)"
    texts = {"--file_system_poll_wait_seconds S": poll}
    add_options(models, texts, type=seconds, default=1.0)
    models.add_argument(
        "--engine",
        choices=engines.ENGINES,
        default=engines.EMBEDDED,
        help="what runs the models: embedded, TensorFlow (default), or "
        "ctranslate2, for what `export --format ctranslate2` wrote (extra "
        "[ctranslate2])",
    )
    _add_ports(parser.add_argument_group("where"))
    _add_batching(parser.add_argument_group("batching"))
    _add_limits(parser.add_argument_group("limits, log and page"))


def _add_ports(group):
    host = "to listen on; 0.0.0.0 is all (default: %(default)s)"
    add_options(group, {"--host ADDRESS": host}, default="127.0.0.1")
    port, ms = integer(0, 2**16 - 1), integer(1)
    for option, kind, default, text in (
        ("--port N", port, 8500, "of gRPC; 0 is none"),
        ("--rest_api_port N", port, 8501, "of REST; 0 is none"),
        ("--rest_api_timeout_in_ms MS", ms, 30000, "for a REST request"),
    ):
        text = f"{text} (default: %(default)s)"
        add_options(group, {option: text}, type=kind, default=default)


def _add_batching(group):
    group.add_argument(
        "--enable_batching",
        nargs="?",
        type=_boolean,
        const=True,
        default=False,
        metavar="true|false",
        help="run requests of several clients together",
    )
    file = "a BatchingParameters text proto"
    add_options(group, {"--batching_parameters_file FILE": file})
    threads = (
        "threads of an operation (default: the cores divided by "
        "num_batch_threads)"
    )
    texts = {"--tensorflow_intra_op_parallelism N": threads}
    add_options(group, texts, type=int, default=0)


def _add_limits(group):
    defaults = {**vars(Limits()), "load_seconds": 600.0, "drain_seconds": 30.0}
    for name, text in _LIMITS.items():
        text = f"{text} (default: %(default)s)"
        metavar, kind = ("S", seconds) if "seconds" in name else ("N", int)
        texts = {f"{flag(name)} {metavar}": text}
        add_options(group, texts, type=kind, default=defaults[name])
    add_options(
        group,
        {
            "--allowed_hosts NAME[,NAME...]": "names by which REST may be "
            "asked, such as .example.com; * is any. Addresses and localhost "
            "always may (default: this machine's names on a loopback address, "
            "otherwise *)",
            "--no-access-log": "log no requests",
            "--log-text": "log what requests say, too",
            "--no-page": "no page for people at / of the REST port",
        },
    )


def run(arguments: argparse.Namespace) -> None:
    _check(arguments)
    if arguments.engine == engines.CTRANSLATE2:
        require_ctranslate2()
    if arguments.model_base_path:
        _check_export(arguments)
    with unblocked_stderr():
        _serve(arguments)


def _check(arguments):
    if arguments.folder is not None:
        if arguments.model_base_path is not None:
            raise InputError(
                f"{arguments.folder} and --model_base_path "
                f"{arguments.model_base_path}: serve takes either"
            )
        arguments.model_base_path = arguments.folder
    if bool(arguments.model_base_path) == bool(arguments.model_config_file):
        raise InputError(
            "serve takes either FOLDER, also as --model_base_path FOLDER, or "
            "--model_config_file FILE"
        )
    if arguments.batching_parameters_file and not arguments.enable_batching:
        raise InputError(
            "--batching_parameters_file goes together with --enable_batching"
        )
    if not (arguments.port or arguments.rest_api_port):
        raise InputError(
            "--port 0 and --rest_api_port 0 leave nothing to listen on. "
            "Accepted: at least one of them above 0"
        )
    if arguments.port == arguments.rest_api_port:
        raise InputError(
            f"--port and --rest_api_port are both {arguments.port}. Accepted: "
            "two ports"
        )
    base = arguments.model_base_path
    if base and not pathlib.Path(base).is_dir():
        raise InputError(
            f"{base}: no such folder. Accepted: one that holds version "
            "folders, such as `keras-transformer export` wrote"
        )


def _check_export(arguments):
    """Refuses an export of the other kind before TensorFlow is imported."""
    base = pathlib.Path(arguments.model_base_path)
    for folder in (base, *list(version_folders(base).values())[-1:]):
        engines.require_engine_for(folder, arguments.engine)


@contextlib.contextmanager
def _extra():
    """Raises an error that says what to install if the extra is missing."""
    try:
        yield
    except ImportError as error:
        raise not_installed(str(error.name), "serving") from None


def _serve(arguments):
    """Runs the embedded server until SIGTERM or Ctrl-C."""
    before = set(threading.enumerate())
    allow_many_connections()
    # The only way to keep gRPC's C++ code silent about a port in use.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    say("loading")
    load_tensorflow()
    with _extra():
        from keras_transformer.exporting.verification.c_api import disable_xla
        from keras_transformer.serving.server.server import Server

        options = server_options(arguments)
        # For the whole process and permanently, as the stock server does.
        disable_xla()
        server = Server(options, say)
    # Until here, a signal ends the process, as no request is in flight.
    server.start()
    spare_collections()
    # Not an Event: a signal may come while this thread holds its lock.
    stop: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: stop.append(number))
    if server.rest_port is not None and not arguments.no_page:
        say(f"page at {_page_address(arguments.host, server.rest_port)}")
    for kind, port in (("REST", server.rest_port), ("gRPC", server.port)):
        if port is not None:
            host = arguments.host
            say(f"{kind} on {f'[{host}]' if ':' in host else host}:{port}")
    while not stop:
        time.sleep(_TICK)
    # A second signal ends the process without waiting for requests in flight.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    # A thread that hangs, such as a batch's, would keep the process alive.
    with exit_after(arguments.drain_seconds + _GRACE, before):
        in_flight = server.core.store.in_flight()
        say(f"stopping: {in_flight} requests in flight")
        server.stop()
        say("stopped")


def _page_address(host, port):
    """The page's address for a browser on this machine."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def server_options(arguments: argparse.Namespace) -> ServerOptions:
    """The `ServerOptions` of parsed arguments.

    Raises:
        InputError: a value or a file isn't accepted.
    """
    from keras_transformer.serving.server.config_files import (
        BatchingParameters,
        ModelConfig,
        read_batching_parameters,
    )
    from keras_transformer.serving.server.server import ServerOptions

    given = {name: getattr(arguments, name) for name in _LIMITS}
    base, file = arguments.model_base_path, arguments.batching_parameters_file
    config = arguments.model_config_file
    hosts = arguments.allowed_hosts
    models: tuple[ModelConfig, ...] = ()
    if base:
        # A link names the model; `Path.resolve` would take its target's name.
        own = absolute(base).name
        name = arguments.model_name or own
        models = (ModelConfig(name, pathlib.Path(base)),)
    return ServerOptions(
        models=models,
        config_file=pathlib.Path(config) if config else None,
        host=arguments.host,
        port=arguments.port or None,
        rest_port=arguments.rest_api_port or None,
        batching=arguments.enable_batching,
        parameters=(
            read_batching_parameters(file) if file else BatchingParameters()
        ),
        limits=Limits(
            **{k: v for k, v in given.items() if k in vars(Limits())},
            timeout_seconds=arguments.rest_api_timeout_in_ms / 1000,
        ),
        poll_seconds=arguments.file_system_poll_wait_seconds,
        intra_op_threads=arguments.tensorflow_intra_op_parallelism,
        load_seconds=arguments.load_seconds,
        drain_seconds=arguments.drain_seconds,
        access_log=not arguments.no_access_log,
        log_text=arguments.log_text,
        page=not arguments.no_page,
        allowed_hosts=hosts.split(",") if hosts is not None else None,
        engine=arguments.engine,
    )


def _boolean(text):
    if text.lower() not in ("true", "false", "1", "0"):
        raise argparse.ArgumentTypeError(
            "true or false, or nothing if FOLDER comes before it. "
            f"Received: {text!r}"
        )
    return text.lower() in ("true", "1")
