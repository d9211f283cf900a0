"""Engines of `serve`: what runs a model, and which kind of export it takes.

TensorFlow's server, the same in a container, and the embedded server, which
has TensorFlow or CTranslate2 run what it serves.
"""

import argparse
import csv
import io
import math
import os
import pathlib
import shutil
import socket
import subprocess

from keras_transformer.contract.layout import IMAGE, SAVED_MODEL
from keras_transformer.errors import InputError
from keras_transformer.exporting.ctranslate2_folder import is_export

TENSORFLOW_MODEL_SERVER = "tensorflow_model_server"
DOCKER = "docker"
EMBEDDED = "embedded"
CTRANSLATE2 = "ctranslate2"
AUTO = "auto"
ENGINES = (AUTO, TENSORFLOW_MODEL_SERVER, DOCKER, EMBEDDED, CTRANSLATE2)

# Seconds for Docker to say whether it has the image.
_PATIENCE = 10


def choose_engine(requested: str) -> str:
    """The engine to use: the requested one, or the first that is installed.

    CTranslate2 is taken only where it is requested.

    Args:
        requested: one of `ENGINES`.

    Raises:
        InputError: the requested one is not installed.
    """
    for engine, is_installed, way in (
        (TENSORFLOW_MODEL_SERVER, _has_model_server, "install it"),
        (DOCKER, _docker_has_image, f"`docker pull {IMAGE}`"),
    ):
        if requested in (AUTO, engine) and is_installed():
            return engine
        if requested == engine:
            raise InputError(
                f"--engine {engine}: not found on this machine. Accepted: "
                f"--engine embedded, or {way}"
            )
    return EMBEDDED if requested == AUTO else requested


def require_engine_for(folder: pathlib.Path, engine: str) -> None:
    """Refuses an export that another engine runs.

    A folder that is no export at all is refused where it is loaded.

    Args:
        folder: of one version.
        engine: one of `ENGINES`.

    Raises:
        InputError: names the engine that is accepted.
    """
    is_ctranslate2 = is_export(folder)
    if is_ctranslate2 and engine != CTRANSLATE2:
        raise InputError(
            f"{folder}: an export for CTranslate2. Accepted: --engine "
            f"{CTRANSLATE2}"
        )
    is_saved_model = (folder / SAVED_MODEL).is_file()
    if is_saved_model and not is_ctranslate2 and engine == CTRANSLATE2:
        raise InputError(
            f"{folder}: a SavedModel. Accepted: --engine {EMBEDDED}, or what "
            "`export --format ctranslate2` wrote"
        )


def model_server_command(arguments: argparse.Namespace) -> list[str]:
    """The command line of `tensorflow_model_server`.

    Args:
        arguments: of `serve`, parsed.
    """
    # Whole seconds; 0 is one look.
    poll = math.ceil(max(0, arguments.file_system_poll_wait_seconds))
    flags = {
        "port": arguments.port,
        "rest_api_port": arguments.rest_api_port,
        "rest_api_timeout_in_ms": arguments.rest_api_timeout_in_ms,
        "file_system_poll_wait_seconds": poll,
        "enable_batching": str(arguments.enable_batching).lower(),
        # Its own choice is all cores, which most operations are too small for.
        "tensorflow_intra_op_parallelism": (
            arguments.tensorflow_intra_op_parallelism or 1
        ),
    }
    if arguments.model_base_path:
        flags["model_name"] = model_name(arguments)
    else:
        # The file is read again, and labels are taken at the start, as by the
        # embedded server.
        flags["model_config_file_poll_wait_seconds"] = poll
        flags["allow_version_labels_for_unavailable_models"] = "true"
    flags |= _paths(arguments)
    words = [f"--{name}={value}" for name, value in flags.items()]
    return [TENSORFLOW_MODEL_SERVER, *words]


def docker_command(arguments: argparse.Namespace) -> list[str]:
    """The command line that runs the server in a container.

    What its flags name is mounted where it is, for reading only.

    Args:
        arguments: of `serve`, parsed.
    """
    command = [DOCKER, "run", "--rm", "--init"]
    for port in (arguments.port, arguments.rest_api_port):
        if port:
            address = _published_address(arguments.host)
            command += ["-p", f"{address}:{port}:{port}"]
    paths = [*_paths(arguments).values()]
    if arguments.model_config_file:
        from keras_transformer.serving.server.config_files import (
            read_model_configs,
        )

        configs = read_model_configs(arguments.model_config_file)
        paths += [_absolute(config.base_path) for config in configs]
    for path in paths:
        command += ["--mount", _mount(path)]
    server, *flags = model_server_command(arguments)
    return [*command, "--entrypoint", server, IMAGE, *flags]


def model_name(arguments: argparse.Namespace) -> str:
    """The name by which requests ask for the one model."""
    return (
        arguments.model_name
        or pathlib.Path(_absolute(arguments.model_base_path)).name
    )


def _has_model_server():
    return shutil.which(TENSORFLOW_MODEL_SERVER) is not None


def _docker_has_image():
    if not shutil.which(DOCKER):
        return False
    try:
        inspected = subprocess.run(
            [DOCKER, "image", "inspect", IMAGE],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return inspected.returncode == 0


def _paths(arguments):
    """Absolute paths of folders and files, by the names of their flags."""
    names = "model_base_path", "model_config_file", "batching_parameters_file"
    given = {name: getattr(arguments, name) for name in names}
    return {name: _absolute(path) for name, path in given.items() if path}


def _absolute(path):
    # A link to a folder lends it its name: `Path.resolve` would follow it.
    return os.path.abspath(path)  # noqa: PTH100


def _published_address(host):
    """The host as Docker takes it: an address, of IPv6 in brackets."""
    if ":" in host:
        return f"[{host}]"
    try:
        return socket.gethostbyname(host)
    except OSError as error:
        raise InputError(f"--host {host}: {error}") from error


def _mount(path):
    """A line of CSV, in which a path may have commas and quotes."""
    line = io.StringIO()
    fields = "type=bind", f"source={path}", f"target={path}", "readonly"
    csv.writer(line, lineterminator="").writerow(fields)
    return line.getvalue()
