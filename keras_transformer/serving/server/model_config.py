"""Which models are served, from where, in which versions."""

import dataclasses
import os
import pathlib

from google.protobuf import text_format
from tensorflow_serving.config import model_server_config_pb2

from keras_transformer.contract.errors import invalid_argument
from keras_transformer.errors import InputError
from keras_transformer.export.registry.versions import version_folders


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """One model.

    Attributes:
        name: as requests give it.
        base_path: the folder that holds its version folders.
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

    def wanted(self, found) -> list[int]:
        """Those of the versions on disk that are to be served, sorted."""
        found = sorted(found)
        if self.all_versions:
            return found
        if self.specific:
            return [version for version in found if version in self.specific]
        return found[-self.latest :]

    def version_folders(self) -> dict[int, pathlib.Path]:
        """The versions on disk, folders by number.

        Raises:
            InputError: they can't be seen, as where a file system is away
                for a moment.
        """
        try:
            there = self.base_path.is_dir()
        except OSError as error:
            raise InputError(f"{self.base_path}: {error.strerror}") from None
        if not there:
            raise InputError(f"{self.base_path}: no such folder")
        return version_folders(self.base_path)


def labelled_version(
    labels: dict[str, int], version: int | None, label: str
) -> int | None:
    """The version that a request means; None: the latest.

    Args:
        labels: of the model, versions by name.
        version: its number, if the request has one.
        label: if it has one, else "".

    Raises:
        ServingError: INVALID_ARGUMENT: both, or no such label.
    """
    if not label:
        return version
    if version is not None:
        raise invalid_argument(
            f"Both model version ({version}) and model version label "
            f"({label}) cannot be supplied."
        )
    if label not in labels:
        raise invalid_argument(f"Unrecognized servable version label: {label}")
    return labels[label]


def moved_labels(
    config: ModelConfig, before: dict[str, int], available: set[int]
) -> dict[str, int]:
    """What a model's labels name now.

    Args:
        config: says what they are to name.
        before: what they named until now.
        available: the versions that answer. A label that is in use moves to
            no other.
    """
    return {
        label: version if version in available else before.get(label, version)
        for label, version in config.labels
    }


def read_model_configs(path: str | os.PathLike) -> list[ModelConfig]:
    """The models of a `ModelServerConfig` text proto.

    Raises:
        InputError: it can't be read, or says what isn't supported.
    """
    message = read_text_proto(
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
            raise InputError(f"{path}: the model {name!r} is there twice")
    if not configs:
        raise InputError(f"{path}: no model. Accepted: at least one config")
    return configs


def read_text_proto(path: str | os.PathLike, message, kind: str):
    """Fills a message from a text file.

    Args:
        path: of the file.
        message: to fill.
        kind: its name, for errors.

    Raises:
        InputError: the file can't be read, or isn't such a message.
    """
    try:
        text = pathlib.Path(path).read_text(encoding="utf-8")
        return text_format.Parse(text, message)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8. Accepted: a text proto") from None
    except text_format.ParseError as error:
        raise InputError(f"{path}: not a {kind} text proto ({error})") from None


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
