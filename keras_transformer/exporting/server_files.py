"""Configuration files that TensorFlow Serving is started with.

They are written to the parent of the models' folders, which is /models in the
server's container; every model in it is served. A file that begins with `MARK`
is rewritten when versions or labels change; a file without it belongs to the
user and is kept.
"""

import json
import os
import pathlib
import re
import string

from keras_transformer.contract.layout import IMAGE, METRICS_PATH
from keras_transformer.errors import InputError
from keras_transformer.exporting.registry.labels import (
    read_labels,
    require_version,
)
from keras_transformer.exporting.registry.releases import served_versions
from keras_transformer.exporting.registry.version_folders import (
    absolute,
    whole_versions,
)
from keras_transformer.system.files import write_text, writing
from keras_transformer.system.locks import locked

MODELS_CONFIG = "models.config"
BATCHING_CONFIG = "batching.config"
MONITORING_CONFIG = "monitoring.config"
COMPOSE = "docker-compose.yml"
MARK = "# Written by keras-transformer, which rewrites it."
_KEEP = "# To keep changes of your own, remove the line above."
_BATCHES = 4  # computed in parallel; the initial value in batching.config
_LOCK, _WAIT = ".server-files.lock", 10.0  # seconds
_TEMPLATES = pathlib.Path(__file__).parent / "templates"

# The server reads models.config each minute, so labels move without a restart.
# Labels may name versions that aren't loaded yet, or the server wouldn't start
# with a label. Each operation has one thread: most are too small to be
# parallelized, and batches in parallel use the other cores.
FLAGS = (
    f"--model_config_file=/models/{MODELS_CONFIG}",
    "--model_config_file_poll_wait_seconds=60",
    "--allow_version_labels_for_unavailable_models=true",
    "--enable_batching=true",
    f"--batching_parameters_file=/models/{BATCHING_CONFIG}",
    f"--monitoring_config_file=/models/{MONITORING_CONFIG}",
    "--tensorflow_intra_op_parallelism=1",
)


def write_server_files(
    base: str | os.PathLike,
) -> tuple[list[pathlib.Path], list[pathlib.Path]]:
    """Writes the files for all models beside `base`.

    Args:
        base: a model's folder; Docker's health check asks for this model.

    Returns:
        The files written, and the user's own files, which were kept.

    Raises:
        InputError: there is no version, a label names a missing one, a file
            is damaged, or the folder can't be written.
    """
    base = absolute(base)
    doing = "writes its files. Accepted: to try again"
    written, kept = [], []
    # With the lock, the last process to write has read the latest labels.
    with locked(base.parent / _LOCK, base.parent, doing, _WAIT):
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
    """Rewrites the files if `write_server_files` has written them before.

    Returns:
        The files written; none without a `models.config` that has `MARK`.
    """
    return write_server_files(base)[0] if _has_files(base) else []


def check_server_files(base: str | os.PathLike) -> None:
    """Refuses to change a model if another one prevents rewriting the files.

    Raises:
        InputError: another model's labels are damaged, or it can't be read.
    """
    base = absolute(base)
    for path in _models(base) if _has_files(base) else ():
        if path != base:
            _model(path, base)


def _has_files(base):
    path = absolute(base).parent / MODELS_CONFIG
    return path.is_file() and _is_ours(path)


def require_model_name(base: str | os.PathLike) -> None:
    """Refuses a folder whose name isn't a valid model name.

    Raises:
        InputError: it has characters other than letters, digits, ., -, _, or
            begins with one of the last three.
    """
    if not is_model_name(absolute(base).name):
        raise InputError(
            f"{base}: can't be a model's name. Accepted: letters, digits, ., "
            "- and _"
        )


def is_model_name(name: str) -> bool:
    """True if a folder's name is a valid model name."""
    return bool(re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name))


def models_beside(base: pathlib.Path) -> list[pathlib.Path]:
    """Lists the models' folders beside `base`, including it, by name.

    Raises:
        InputError: `base` has no version, or its name isn't a valid model
            name.
    """
    require_model_name(base)
    bases = _models(base)
    if base not in bases:
        raise InputError(f"{base}: no version, so there is nothing to serve")
    return bases


def _models(base):
    return [
        path
        for path in sorted(base.parent.iterdir())
        if path.is_dir()
        and is_model_name(path.name)
        and _has_version(path, path == base)
    ]


def batching_config() -> str:
    """Returns the text proto that configures the server's batching."""
    return _filled(BATCHING_CONFIG, threads=_BATCHES)


def _contents(base):
    """Returns the content of each file by its name."""
    bases = models_beside(base)
    return {
        MODELS_CONFIG: _models_config(bases, base),
        BATCHING_CONFIG: batching_config(),
        MONITORING_CONFIG: _filled(
            MONITORING_CONFIG, metrics_path=METRICS_PATH
        ),
        COMPOSE: _filled(
            COMPOSE,
            server=IMAGE,
            flags="\n      ".join(f"- {flag}" for flag in FLAGS),
            model=base.name,
        ),
    }


def _filled(name, **values):
    text = (_TEMPLATES / name).read_text(encoding="utf-8")
    return string.Template(text).substitute(values)


def _has_version(path, required):
    """True for a model's folder; raises for an unreadable one if required."""
    try:
        return bool(whole_versions(path))
    except (InputError, OSError):
        if required:
            raise
        return False


def _models_config(bases, changed):
    models = "\n".join(_model(base, changed) for base in bases)
    return (
        "# The models that the server loads, a config for each.\n"
        f"model_config_list {{\n{models}\n}}\n"
    )


def _model(base, changed):
    labels = read_labels(base).versions
    if base != changed:  # Stale labels of other models mustn't block this one.
        there = whole_versions(base)
        labels = {name: v for name, v in labels.items() if v in there}
    lines = [
        "config {",
        f"  name: {json.dumps(base.name)}",
        f"  base_path: {json.dumps(f'/models/{base.name}')}",
        '  model_platform: "tensorflow"',
    ]
    if labels:
        for version in labels.values():
            require_version(base, version)
        versions = " ".join(f"versions: {v}" for v in served_versions(base))
        lines += [
            "  # The versions that labels name now and named before: a label",
            "  # moves only to a loaded version. A request without label and",
            "  # version gets the highest of these.",
            f"  model_version_policy {{ specific {{ {versions} }} }}",
        ]
        lines += [
            f"  version_labels {{ key: {json.dumps(name)} value: {version} }}"
            for name, version in labels.items()
        ]
    else:
        lines.append("  model_version_policy { latest { num_versions: 1 } }")
    return "\n".join(f"  {line}" for line in [*lines, "}"])


def _is_ours(path):
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.readline().rstrip("\n") == MARK
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
