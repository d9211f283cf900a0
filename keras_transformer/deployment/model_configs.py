"""Model configurations: which models a server loads, from where, and how.

Every model in the folder that holds a model's folder is served.
"""

import json
import os
import pathlib
import re

from keras_transformer.contract.layout import (
    METRICS_PATH,
    SAVED_MODEL,
    VARIABLES,
)
from keras_transformer.deployment.templates import fill
from keras_transformer.errors import InputError
from keras_transformer.export.registry.labels import (
    read_labels,
    require_version,
)
from keras_transformer.export.registry.releases import served_versions
from keras_transformer.export.registry.version_folders import (
    folder_size,
    version_folders,
)

GRPC_PORT = 8500
REST_PORT = 8501
MODELS_CONFIG = "models.config"
BATCHING_CONFIG = "batching.config"
MONITORING_CONFIG = "monitoring.config"
BATCHES = 4  # that are computed at a time, if nothing else is said
# Whom the server runs as in a container: nobody in particular.
USER = 10001


def server_flags(folder: str) -> tuple[str, ...]:
    """TensorFlow Serving's, wherever it runs.

    Labels move by themselves, as the server reads models.config again each
    minute. A label may name a version before it is loaded, or the server
    wouldn't start with one. An operation has one thread: most are too small to
    be shared out, and batches share the processors.

    Args:
        folder: that holds the three configuration files.
    """
    return (
        f"--model_config_file={folder}/{MODELS_CONFIG}",
        "--model_config_file_poll_wait_seconds=60",
        "--allow_version_labels_for_unavailable_models=true",
        "--enable_batching=true",
        f"--batching_parameters_file={folder}/{BATCHING_CONFIG}",
        f"--monitoring_config_file={folder}/{MONITORING_CONFIG}",
        "--tensorflow_intra_op_parallelism=1",
    )


def require_model_name(base: str | os.PathLike) -> None:
    """Refuses a folder whose name can't be a model's.

    It stands in addresses, in files of Docker and in a shell's line.

    Raises:
        InputError: it has other characters than letters, digits, ., -, _.
    """
    name = pathlib.Path(base).resolve().name
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
        raise InputError(
            f"{base}: can't be a model's name. Accepted: letters, digits, ., "
            "- and _"
        )


def models_beside(base: pathlib.Path) -> list[pathlib.Path]:
    """The models' folders in the folder that holds `base`, by name.

    Raises:
        InputError: `base` has no version, or a name can't be a model's.
    """
    bases = [
        path
        for path in sorted(base.parent.iterdir())
        if path.is_dir() and _has_version(path, path == base)
    ]
    if base not in bases:
        raise InputError(f"{base}: no version, so there is nothing to serve")
    for path in bases:
        require_model_name(path)
    return bases


def _has_version(path, required):
    """Whether a folder is a model's; what can't be read isn't, or an error."""
    try:
        folders = version_folders(path).values()
        return any((folder / SAVED_MODEL).is_file() for folder in folders)
    except (InputError, OSError):
        if required:
            raise
        return False


def models_config(bases: list[pathlib.Path], root: str = "/models") -> str:
    """The text proto that tells the server its models.

    Args:
        bases: the models' folders.
        root: what holds them where the server runs, a folder or a bucket.

    Raises:
        InputError: a label names a version that isn't there.
    """
    models = "\n".join(_model(base, root) for base in bases)
    return (
        "# The models that the server loads, a config for each.\n"
        f"model_config_list {{\n{models}\n}}\n"
    )


def batching_config(threads: int = BATCHES) -> str:
    """The text proto of how the server joins requests.

    Args:
        threads: batches at a time.
    """
    return fill(BATCHING_CONFIG, {"threads": threads})


def monitoring_config() -> str:
    """The text proto that turns metrics on."""
    return fill(MONITORING_CONFIG, {"metrics_path": METRICS_PATH})


def served_folders(base: pathlib.Path) -> list[pathlib.Path]:
    """The version folders that a server with `models_config` loads."""
    there = version_folders(base)
    return [there[version] for version in served_versions(base)]


def weights_size(folder: pathlib.Path) -> int:
    """Bytes of a version's weights."""
    return folder_size((folder / VARIABLES).parent)


def default_name(base: pathlib.Path) -> str:
    """What the model's server is called, as Kubernetes has names."""
    name = re.sub("[^a-z0-9]+", "-", base.name.lower()).strip("-")
    if not name[:1].isalpha():
        name = f"model-{name}".rstrip("-")
    # With the ending it may have 40 characters.
    return f"{name[:32].rstrip('-')}-serving"


def quoted(text: str) -> str:
    """A string as text protos, JSON and Dockerfiles have it."""
    return json.dumps(text)


def _model(base, root):
    labels = read_labels(base).versions
    lines = [
        "config {",
        f"  name: {quoted(base.name)}",
        f"  base_path: {quoted(f'{root}/{base.name}')}",
        '  model_platform: "tensorflow"',
    ]
    if labels:
        for version in labels.values():
            require_version(base, version)
        versions = " ".join(f"versions: {v}" for v in served_versions(base))
        lines += [
            "  # What labels name, and named before: a label moves only to",
            "  # a version that is loaded. A request that names neither",
            "  # label nor version gets the highest of these.",
            f"  model_version_policy {{ specific {{ {versions} }} }}",
        ]
        lines += [
            f"  version_labels {{ key: {quoted(name)} value: {version} }}"
            for name, version in labels.items()
        ]
    else:
        lines.append("  model_version_policy { latest { num_versions: 1 } }")
    return "\n".join(f"  {line}" for line in [*lines, "}"])
