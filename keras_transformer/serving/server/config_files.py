"""Configuration files of TensorFlow Serving: the models, and the batching.

Both are text protos: a `ModelServerConfig` says which models are served, from
where and in which versions; `BatchingParameters` how requests are joined.
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
# Of the values in a batching file.
_LOWEST = {
    "max_batch_size": 1,
    "batch_timeout_micros": 0,
    "max_enqueued_batches": 1,
    "num_batch_threads": 1,
}


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """One model.

    Attributes:
        name: as requests give it.
        base_path: the folder that holds its version folders, or is an export
            for CTranslate2.
        latest: how many of the highest versions are served.
        specific: these versions instead, if there are any.
        all_versions: whether all are served instead.
        labels: `(label, version)` pairs.
    """

    name: str
    base_path: pathlib.Path
    latest: int = 1
    specific: tuple[int, ...] = ()
    all_versions: bool = False
    labels: tuple[tuple[str, int], ...] = ()

    def versions_to_serve(self, on_disk: Iterable[int]) -> list[int]:
        """Versions on disk that the policy takes, sorted."""
        on_disk = sorted(on_disk)
        if self.all_versions:
            return on_disk
        if self.specific:
            return [version for version in on_disk if version in self.specific]
        return on_disk[-self.latest :]

    def version_folders(self) -> dict[int, pathlib.Path]:
        """The versions on disk, folders by number.

        An export for CTranslate2 in `base_path` itself is version
        1.

        Raises:
            InputError: they can't be read, as where a file system is away
                for a moment.
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
    """Limits of the queues, with TensorFlow Serving's defaults.

    Attributes:
        max_batch_size: rows of a batch.
        batch_timeout_micros: how long a request waits for others, in
            microseconds, while a worker is free.
        max_enqueued_batches: that wait for a worker, for each signature of a
            version; what comes then is refused.
        num_batch_threads: workers; one a core if omitted.
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
    """The models of a `ModelServerConfig` text proto.

    Raises:
        InputError: it can't be read, or says what isn't supported.
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
    """The parameters of a text proto; what it leaves out has its default.

    `allowed_batch_sizes` and `pad_variable_length_inputs` are read and have no
    effect: no shape is compiled, and requests of unlike shapes aren't joined.

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
        reason = str(error)[:200]  # It repeats what it doesn't know.
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
