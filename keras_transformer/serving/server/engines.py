"""Engines of `serve`: TensorFlow's server, one in a container, the embedded."""

import shutil
import subprocess

from keras_transformer.contract.layout import IMAGE
from keras_transformer.errors import InputError

TENSORFLOW_MODEL_SERVER = "tensorflow_model_server"
DOCKER = "docker"
EMBEDDED = "embedded"
AUTO = "auto"
ENGINES = (AUTO, TENSORFLOW_MODEL_SERVER, DOCKER, EMBEDDED)

# Seconds for Docker to say whether it has the image.
_PATIENCE = 10


def choose_engine(requested: str, image: str = IMAGE) -> str:
    """The engine to use: the requested one, or the first that is there.

    Args:
        requested: one of `ENGINES`.
        image: that Docker would run.

    Raises:
        InputError: the requested one isn't there.
    """
    if requested == EMBEDDED:
        return EMBEDDED
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
    for name in ("port", "rest_api_port"):
        if flags.get(name):
            command += ["-p", f"{host}:{flags[name]}:{flags[name]}"]
    for path in paths:
        mount = f"type=bind,source={path},target={path},readonly"
        command += ["--mount", mount]
    entry = ["--entrypoint", TENSORFLOW_MODEL_SERVER]
    return [*command, *entry, image, *_flags(flags)]


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
