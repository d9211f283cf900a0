"""Configuration files of TensorFlow Serving: models and batching.

Both are text protos: a `ModelServerConfig` lists the models to serve with their
folders and versions; `BatchingParameters` configures the batching of requests.
"""

import dataclasses
import os
import pathlib
from collections.abc import Iterable

from google.protobuf import text_format
from tensorflow_serving.config import model_server_config_pb2

from keras_transformer.contract.protobuf import message
from keras_transformer.errors import InputError, shown
from keras_transformer.exporting.ctranslate2_folder import is_export
from keras_transformer.exporting.registry.version_folders import version_folders
from keras_transformer.system.files import read_bytes
from keras_transformer.system.machine import usable_cores

_LARGEST_FILE = 1 << 20  # bytes
# Smallest accepted values in a batching file.
_LOWEST = {
    "max_batch_size": 1,
    "batch_timeout_micros": 0,
    "max_enqueued_batches": 1,
    "num_batch_threads": 1,
}


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """Configuration of one model.

    Attributes:
        name: the model's name in requests.
        base_path: the folder of its version folders, or a CTranslate2 export.
        latest: number of the highest versions to serve.
        specific: versions to serve instead; empty: none.
        all_versions: bool, whether to serve all versions instead.
        labels: `(label, version)` pairs.
    """

    name: str
    base_path: pathlib.Path
    latest: int = 1
    specific: tuple[int, ...] = ()
    all_versions: bool = False
    labels: tuple[tuple[str, int], ...] = ()

    def versions_to_serve(self, on_disk: Iterable[int]) -> list[int]:
        """Returns the versions on disk that the policy selects, sorted."""
        on_disk = sorted(on_disk)
        if self.all_versions:
            return on_disk
        if self.specific:
            return [version for version in on_disk if version in self.specific]
        return on_disk[-self.latest :]

    def version_folders(self) -> dict[int, pathlib.Path]:
        """Returns the folders of the versions on disk, by number.

        If `base_path` is a CTranslate2 export, that is version 1.

        Raises:
            InputError: they can't be read, for example because a file system
                is temporarily unavailable.
        """
        try:
            there = self.base_path.is_dir()
        except OSError as error:
            raise InputError(f"{self.base_path}: {error.strerror}") from None
        if not there:
            raise InputError(f"{self.base_path}: no such folder")
        if is_export(self.base_path):
            return {1: self.base_path}
        return version_folders(self.base_path)


@dataclasses.dataclass(frozen=True)
class BatchingParameters:
    """Limits of batches and queues, with TensorFlow Serving's defaults.

    Attributes:
        max_batch_size: maximum number of rows in a batch.
        batch_timeout_micros: how long a request waits for others while a
            worker is free, in microseconds.
        max_enqueued_batches: maximum number of queued batches for each
            signature of a version; further requests are refused.
        num_batch_threads: number of workers; by default one for each core.
    """

    max_batch_size: int = 1000
    batch_timeout_micros: int = 0
    max_enqueued_batches: int = 10
    num_batch_threads: int = dataclasses.field(default_factory=usable_cores)

    def __post_init__(self) -> None:
        for name, lowest in _LOWEST.items():
            if getattr(self, name) < lowest:
                raise InputError(
                    f"{name} must be at least {lowest}. Received: "
                    f"{getattr(self, name)}"
                )


def read_model_configs(path: str | os.PathLike) -> list[ModelConfig]:
    """Reads the models of a `ModelServerConfig` text proto.

    Raises:
        InputError: it can't be read, or a value isn't supported.
    """
    message = _read_text_proto(
        path, model_server_config_pb2.ModelServerConfig(), "ModelServerConfig"
    )
    if message.WhichOneof("config") != "model_config_list":
        raise InputError(
            f"{path}: no model_config_list. Accepted: a ModelServerConfig "
            "with model_config_list { config { name, base_path } }"
        )
    configs = [_config(path, c) for c in message.model_config_list.config]
    names = [config.name for config in configs]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{path}: the model {shown(name)} is there twice")
    if not configs:
        raise InputError(f"{path}: no model. Accepted: at least one config")
    return configs


def read_batching_parameters(path: str | os.PathLike) -> BatchingParameters:
    """Reads a `BatchingParameters` text proto; missing values have defaults.

    `allowed_batch_sizes` and `pad_variable_length_inputs` are accepted without
    effect: no shapes are compiled, and requests of different shapes aren't
    batched.

    Raises:
        InputError: the file can't be read, or a value isn't accepted.
    """
    parameters = _read_text_proto(
        path, message("BatchingParameters")(), "BatchingParameters"
    )
    values = {
        name: getattr(parameters, name).value
        for name in _LOWEST
        if parameters.HasField(name)
    }
    try:
        return BatchingParameters(**values)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _read_text_proto(path, message, kind):
    """Fills a message from a text file; `kind` is its name, for errors."""
    text = read_bytes(path, largest=_LARGEST_FILE)
    try:
        return text_format.Parse(text.decode(), message)
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8. Accepted: a text proto") from None
    except text_format.ParseError as error:
        reason = str(error)[:200]  # It quotes the unknown text.
        raise InputError(
            f"{path}: not a {kind} text proto ({reason})"
        ) from None


def _config(path, message):
    if not (message.name and message.base_path):
        raise InputError(f"{path}: a config needs a name and a base_path")
    if message.model_platform not in ("", "tensorflow"):
        raise InputError(
            f"{path}, {message.name}: model_platform must be tensorflow. "
            f"Received: {message.model_platform!r}"
        )
    policy = message.model_version_policy
    specific = tuple(policy.specific.versions)
    choice = policy.WhichOneof("policy_choice")
    if choice == "specific" and not specific:
        raise InputError(f"{path}, {message.name}: specific needs versions")
    return ModelConfig(
        message.name,
        pathlib.Path(message.base_path),
        latest=policy.latest.num_versions or 1,
        specific=specific,
        all_versions=choice == "all",
        labels=tuple(sorted(message.version_labels.items())),
    )
