"""Server files: the six that TensorFlow Serving is started with.

They belong to the folder that holds the models' folders, which the server
sees as /models. A file that begins with `MARK` is written anew when versions
or labels change; one that doesn't is its owner's, and stays.
"""

import os
import pathlib

from keras_transformer.contract.layout import IMAGE
from keras_transformer.deployment.model_configs import (
    BATCHES,
    BATCHING_CONFIG,
    GRPC_PORT,
    MODELS_CONFIG,
    MONITORING_CONFIG,
    REST_PORT,
    USER,
    batching_config,
    default_name,
    models_beside,
    models_config,
    monitoring_config,
    quoted,
    served_folders,
    server_flags,
)
from keras_transformer.deployment.serving import (
    KUBERNETES,
    ServingOptions,
    image_tag,
    memory_of,
    serving_manifests,
)
from keras_transformer.deployment.templates import fill
from keras_transformer.errors import InputError
from keras_transformer.files import write_text, writing
from keras_transformer.locks import locked

FLAGS = server_flags("/models")
MARK = "# Written by keras-transformer, which may write it anew."
_LOCK, _WAIT = ".server-files.lock", 10.0  # seconds
_KEEP = "# To keep changes of your own, remove the line above."


def write_server_files(
    base: str | os.PathLike,
) -> tuple[list[pathlib.Path], list[pathlib.Path]]:
    """Writes the files for all models beside `base`.

    Args:
        base: a model's folder; it names the image, and is asked for by the
            probe of health in Docker.

    Returns:
        what was written, and what stands there as its owner wrote it.

    Raises:
        InputError: no version, a label that names none, a damaged file, or
            a folder that can't be written.
    """
    base = pathlib.Path(base).resolve()

    def busy(holder):
        return (
            f"{base.parent}: {holder} writes its files. Accepted: to try again"
        )

    written, kept = [], []
    # Who writes last has read the labels last.
    with locked(base.parent / _LOCK, busy, wait=_WAIT):
        for name, content in _contents(base).items():
            path = base.parent / name
            if path.exists() and not _is_ours(path):
                kept.append(path)
                continue
            with writing(path):
                write_text(path, f"{MARK}\n{_KEEP}\n{content}")
            written.append(path)
    return written, kept


def refresh_server_files(base: str | os.PathLike) -> list[pathlib.Path]:
    """Writes the files anew where `write_server_files` had written them.

    Returns:
        what was written; nothing where there is no `models.config` of ours.
    """
    path = pathlib.Path(base).resolve().parent / MODELS_CONFIG
    if not path.is_file() or not _is_ours(path):
        return []
    return write_server_files(base)[0]


def _contents(base):
    """The content of each file by its name."""
    bases = models_beside(base)
    values = {
        "server": IMAGE,
        "grpc_port": GRPC_PORT,
        "rest_port": REST_PORT,
        "model": base.name,
        "user": USER,
        "image": f"{default_name(base)}:{image_tag(base)}",
        "threads": BATCHES,
        # Last: the tag's configurations tell what is wrong with a label.
        "memory": memory_of(bases, BATCHES),
    }
    return {
        MODELS_CONFIG: models_config(bases),
        BATCHING_CONFIG: batching_config(),
        MONITORING_CONFIG: monitoring_config(),
        "Dockerfile": fill(
            "Dockerfile",
            {
                **values,
                "copies": "\n".join(_copies(bases)),
                "flags": ", ".join(map(quoted, FLAGS)),
            },
        ),
        "docker-compose.yml": fill(
            "docker-compose.yml",
            {**values, "flags": "\n".join(f"- {flag}" for flag in FLAGS)},
        ),
        KUBERNETES: serving_manifests(base, ServingOptions()),
    }


def _copies(bases):
    """A line for each version that is served, under the name it has."""
    for base in bases:
        for version in served_folders(base):
            folder = f"{base.name}/{version.name}/"
            yield f"COPY --chown={USER}:{USER} {folder} /models/{folder}"


def _is_ours(path):
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.readline().rstrip("\n") == MARK
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
