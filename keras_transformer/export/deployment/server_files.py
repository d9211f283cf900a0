"""Server files: the six that TensorFlow Serving is started with.

They belong to the folder that holds the models' folders, which the server
sees as /models. Every model in it is in `models.config`; the other five are
filled-in templates. A file that begins with `MARK` is written anew when
versions or labels change; one that doesn't is its owner's, and stays.
"""

import json
import os
import pathlib
import re
import string

from keras_transformer.contract.layout import IMAGE, METRICS_PATH, SAVED_MODEL
from keras_transformer.errors import InputError
from keras_transformer.export.registry.labels import (
    read_labels,
    require_version,
)
from keras_transformer.export.registry.releases import served_versions
from keras_transformer.export.registry.version_folders import version_folders
from keras_transformer.files import digest, write_text, writing

GRPC_PORT = 8500
REST_PORT = 8501
# TensorFlow Serving's. Labels move by themselves, as the server reads
# models.config again each minute. A label may name a version before it is
# loaded, or the server wouldn't start with one.
FLAGS = (
    "--model_config_file=/models/models.config",
    "--model_config_file_poll_wait_seconds=60",
    "--allow_version_labels_for_unavailable_models=true",
    "--enable_batching=true",
    "--batching_parameters_file=/models/batching.config",
    "--monitoring_config_file=/models/monitoring.config",
)
MODELS_CONFIG = "models.config"
_BATCHING = "batching.config"
_MONITORING = "monitoring.config"
_TEMPLATES = pathlib.Path(__file__).parent / "templates"
MARK = "# Written by keras-transformer, which may write it anew."
_KEEP = "# To keep changes of your own, remove the line above."


def write_server_files(
    base: str | os.PathLike,
) -> tuple[list[pathlib.Path], list[pathlib.Path]]:
    """Writes the files for all models beside `base`.

    Args:
        base: a model's folder; it names the image, and is asked for by the
            probes of health.

    Returns:
        what was written, and what stands there as its owner wrote it.

    Raises:
        InputError: no version, a label that names none, a damaged file, or
            a folder that can't be written.
    """
    base = pathlib.Path(base).resolve()
    written, kept = [], []
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


def require_model_name(base: str | os.PathLike):
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


def models_config(bases: list[pathlib.Path]) -> str:
    """The text proto that tells the server its models.

    Args:
        bases: the models' folders.

    Raises:
        InputError: a label names a version that isn't there.
    """
    models = "\n".join(_model(base) for base in bases)
    return (
        "# The models that the server loads, a config for each.\n"
        f"model_config_list {{\n{models}\n}}\n"
    )


def _model(base):
    labels = read_labels(base).versions
    lines = [
        "config {",
        f"  name: {_quoted(base.name)}",
        f"  base_path: {_quoted(f'/models/{base.name}')}",
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
            f"  version_labels {{ key: {_quoted(name)} value: {version} }}"
            for name, version in labels.items()
        ]
    else:
        lines.append("  model_version_policy { latest { num_versions: 1 } }")
    return "\n".join(f"  {line}" for line in [*lines, "}"])


def template(name: str) -> str:
    """The content of a file before `$name`s in it are filled in.

    Args:
        name: such as "batching.config".
    """
    return (_TEMPLATES / name).read_text(encoding="utf-8")


def _contents(base):
    """The content of each file by its name."""
    bases = _models_beside(base)
    name = re.sub("[^a-z0-9]+", "-", base.name.lower()).strip("-") or "model"
    # A name in Kubernetes has 63 characters at most.
    name = f"{name[:54].rstrip('-')}-serving"
    values = {
        "server": IMAGE,
        "grpc_port": GRPC_PORT,
        "rest_port": REST_PORT,
        "metrics_path": METRICS_PATH,
        "model": base.name,
        "name": name,
    }

    def fill(file, **more):
        return string.Template(template(file)).substitute(values, **more)

    configs = {
        MODELS_CONFIG: models_config(bases),
        _BATCHING: template(_BATCHING),
        _MONITORING: fill(_MONITORING),
    }
    values["image"] = f"{name}:{_tag(base, ''.join(configs.values()))}"
    return {
        **configs,
        "Dockerfile": fill(
            "Dockerfile",
            copies="\n".join(_copies(bases)),
            flags=", ".join(map(_quoted, FLAGS)),
        ),
        "docker-compose.yml": fill(
            "docker-compose.yml",
            flags="\n".join(f"      - {flag}" for flag in FLAGS),
        ),
        "kubernetes.yaml": fill("kubernetes.yaml"),
    }


def _tag(base, configs):
    """The image's: the highest version, and what changes with any label.

    With the same tag Kubernetes would see nothing to replace.
    """
    latest = max(served_versions(base))
    return f"{latest}-{digest(configs.encode())[:8]}"


def _models_beside(base):
    """The models' folders in the folder that holds `base`, by name."""
    bases = [
        path
        for path in sorted(base.parent.iterdir())
        if path.is_dir()
        and any(
            (folder / SAVED_MODEL).is_file()
            for folder in version_folders(path).values()
        )
    ]
    if base not in bases:
        raise InputError(f"{base}: no version, so there is nothing to serve")
    for path in bases:
        require_model_name(path)
    return bases


def _copies(bases):
    """A line for each version that is served, under the name it has."""
    for base in bases:
        there = version_folders(base)
        for version in served_versions(base):
            folder = f"{base.name}/{there[version].name}/"
            yield f"COPY {folder} /models/{folder}"


def _is_ours(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.readline().rstrip("\n") == MARK
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None


def _quoted(text):
    return json.dumps(text)
