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


def choose_engine(requested: str, image: str = IMAGE) -> str:
    """The engine to use: the requested one, or the first that is installed.

    CTranslate2 is taken only where it is requested.

    Args:
        requested: one of `ENGINES`.
        image: that Docker would run.

    Raises:
        InputError: the requested one isn't there.
    """
    if requested in (EMBEDDED, CTRANSLATE2):
        return requested
    if requested in (AUTO, TENSORFLOW_MODEL_SERVER):
        if shutil.which(TENSORFLOW_MODEL_SERVER):
            return TENSORFLOW_MODEL_SERVER
        if requested != AUTO:
            raise InputError(
                f"--engine {requested}: it isn't on the PATH. Accepted: "
                "--engine embedded, or install it"
            )
    if _docker_has(image):
        return DOCKER
    if requested == DOCKER:
        raise InputError(
            f"--engine docker: no running Docker with the image {image}. "
            f"Accepted: --engine embedded, or `docker pull {image}`"
        )
    return EMBEDDED


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


def model_server_command(flags: dict) -> list[str]:
    """The command line of `tensorflow_model_server`.

    Args:
        flags: values by the flags' names; those that are None are left out.
    """
    return [TENSORFLOW_MODEL_SERVER, *_flags(flags)]


def docker_command(
    flags: dict, host: str, paths: list[str], image: str = IMAGE
) -> list[str]:
    """The command line that runs the server in a container.

    Args:
        flags: as those of `model_server_command`, with `port` and
            `rest_api_port`.
        host: address on which the ports are published.
        paths: absolute, of folders and files that the flags name; they are
            mounted where they are, for reading only.
        image: to run.
    """
    command = [DOCKER, "run", "--rm", "--init"]
    address = _published_address(host)
    for name in ("port", "rest_api_port"):
        if flags.get(name):
            command += ["-p", f"{address}:{flags[name]}:{flags[name]}"]
    for path in paths:
        command += ["--mount", _mount(path)]
    entry = ["--entrypoint", TENSORFLOW_MODEL_SERVER]
    return [*command, *entry, image, *_flags(flags)]


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


def _flags(flags):
    return [
        f"--{name}={str(value).lower() if isinstance(value, bool) else value}"
        for name, value in flags.items()
        if value is not None
    ]


def _docker_has(image):
    if not shutil.which(DOCKER):
        return False
    try:
        inspected = subprocess.run(
            [DOCKER, "image", "inspect", image],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return inspected.returncode == 0


def server_flags(arguments: argparse.Namespace) -> dict:
    """TensorFlow Serving's flags by name; None is left out.

    Args:
        arguments: of `serve`, parsed.
    """
    flags = {
        "port": arguments.port,
        "rest_api_port": arguments.rest_api_port,
        "rest_api_timeout_in_ms": arguments.rest_api_timeout_in_ms,
        # It takes whole seconds, and at 0 looks once.
        "file_system_poll_wait_seconds": math.ceil(
            max(0, arguments.file_system_poll_wait_seconds)
        ),
    }
    if arguments.model_base_path:
        flags["model_name"] = model_name(arguments)
        flags["model_base_path"] = _absolute(arguments.model_base_path)
    else:
        flags["model_config_file"] = _absolute(arguments.model_config_file)
        # So that the file is read again, and labels are taken at the start,
        # as by the embedded server.
        flags["model_config_file_poll_wait_seconds"] = flags[
            "file_system_poll_wait_seconds"
        ]
        flags["allow_version_labels_for_unavailable_models"] = True
    if arguments.enable_batching:
        flags["enable_batching"] = True
        file = arguments.batching_parameters_file
        flags["batching_parameters_file"] = _absolute(file) if file else None
    # Its own choice is all cores, which most operations are too small for.
    threads = arguments.tensorflow_intra_op_parallelism or 1
    flags["tensorflow_intra_op_parallelism"] = threads
    return flags


def mounted_paths(arguments: argparse.Namespace) -> list[str]:
    """Paths to mount in a container: the files, and the models' folders."""
    files = [arguments.model_config_file, arguments.batching_parameters_file]
    paths = [arguments.model_base_path, *files]
    if arguments.model_config_file:
        from keras_transformer.serving.server.config_files import (
            read_model_configs,
        )

        configs = read_model_configs(arguments.model_config_file)
        paths += [config.base_path for config in configs]
    return [_absolute(path) for path in dict.fromkeys(paths) if path]


def model_name(arguments: argparse.Namespace) -> str:
    """The name by which the one model is asked for."""
    return (
        arguments.model_name
        or pathlib.Path(_absolute(arguments.model_base_path)).name
    )


def _absolute(path):
    # A link to a folder lends it its name: `Path.resolve` would follow it.
    return os.path.abspath(path)  # noqa: PTH100
