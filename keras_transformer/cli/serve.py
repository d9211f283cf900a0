"""Serves exported models over REST and gRPC, as TensorFlow Serving does.

It is TensorFlow Serving where that is installed, or its Docker image, and
otherwise a server of this package's that keeps the same contract. The flags
carry TensorFlow Serving's names.
"""

import contextlib
import os
import pathlib
import signal
import threading

from keras_transformer.cli.console import load_tensorflow, say
from keras_transformer.cli.serve_flags import (
    add_arguments,
    mounted_paths,
    server_flags,
    server_options,
)
from keras_transformer.errors import InputError
from keras_transformer.machine import allow_many_connections
from keras_transformer.serving.server import engines

__all__ = ["EXAMPLE", "add_arguments", "run"]

EXAMPLE = """example:
  keras-transformer serve --model_base_path saved_models/en-zh
  curl -d '{"instances": ["Good morning."]}' \\
      http://127.0.0.1:8501/v1/models/en-zh:predict
"""


def run(arguments):
    _check(arguments)
    engine = engines.choose_engine(arguments.engine)
    if engine == engines.EMBEDDED:
        say("engine: the embedded server")
        _serve(arguments)
        return
    flags = server_flags(arguments)
    if engine == engines.DOCKER:
        say(f"engine: {engines.IMAGE} in Docker")
        with _extra():
            paths = mounted_paths(arguments)
        command = engines.docker_command(flags, arguments.host, paths)
    else:
        say(f"engine: {engines.TENSORFLOW_MODEL_SERVER}")
        say("it listens on all addresses of this machine, not on --host")
        command = engines.model_server_command(flags)
    say("limits, access log and page are the embedded server's only")
    # Its signals, output and exit status are this command's.
    os.execvp(command[0], command)


def _check(arguments):
    if bool(arguments.model_base_path) == bool(arguments.model_config_file):
        raise InputError(
            "serve takes either --model_base_path FOLDER or "
            "--model_config_file FILE"
        )
    if arguments.batching_parameters_file and not arguments.enable_batching:
        raise InputError(
            "--batching_parameters_file goes together with --enable_batching"
        )
    for name in ("port", "rest_api_port"):
        if not 0 <= getattr(arguments, name) < 2**16:
            raise InputError(
                f"--{name} must be from 0 to 65535. Received: "
                f"{getattr(arguments, name)}"
            )
    if not (arguments.port or arguments.rest_api_port):
        raise InputError(
            "--port 0 and --rest_api_port 0 leave nothing to listen on. "
            "Accepted: at least one of them above 0"
        )
    base = arguments.model_base_path
    if base and not pathlib.Path(base).is_dir():
        raise InputError(
            f"{base}: no such folder. Accepted: one that holds version "
            "folders, such as `keras-transformer export` wrote"
        )


@contextlib.contextmanager
def _extra():
    """Tells what to install where the extra is missing."""
    try:
        yield
    except ImportError as error:
        raise InputError(
            f"serve needs the package {error.name} here. Accepted: "
            "pip install '.[serving]' in the project's folder"
        ) from None


def _serve(arguments):
    """Runs the embedded server until SIGTERM or Ctrl-C."""
    allow_many_connections()
    # gRPC's C++ code has no other way to be silent about a port in use.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    load_tensorflow()
    with _extra():
        from keras_transformer.export.verification.session import disable_xla
        from keras_transformer.serving.server.server import Server

        # For the whole process and for good, as the stock server does.
        disable_xla()
        server = Server(server_options(arguments), _tell)
    # Until here a signal ends the process: nobody waits for an answer.
    server.start()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    if server.rest_port is not None and not arguments.no_page:
        _tell(f"page at {_page_address(arguments.host, server.rest_port)}")
    for kind, port in (("REST", server.rest_port), ("gRPC", server.port)):
        if port is not None:
            _tell(f"{kind} on {arguments.host}:{port}")
    stop.wait()
    # Who asks twice doesn't wait for requests in flight.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    _tell(f"stopping: {server.core.store.in_flight()} requests in flight")
    server.stop()
    _tell("stopped")


def _tell(line):
    """Says a line; the service goes on where nobody can hear it."""
    with contextlib.suppress(OSError):
        say(line)


def _page_address(host, port):
    """What to open in a browser on this machine."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"
