"""Configuration: frozen dataclasses, YAML in and out.

A `Config` has four sections. Each is a frozen dataclass that checks its own
values, so a configuration that exists is a configuration that works. Presets
live in `keras_transformer.config.presets`.
"""

import dataclasses
import os
import pathlib

import yaml

from keras_transformer.config.data import DataConfig
from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.config.model import ModelConfig
from keras_transformer.config.training import TrainingConfig
from keras_transformer.config.validation import (
    field_types,
    known,
    mapping,
    typed,
)
from keras_transformer.errors import InputError
from keras_transformer.system.files import read_yaml

__all__ = [
    "Config",
    "DataConfig",
    "DecodingConfig",
    "ModelConfig",
    "TrainingConfig",
]


@dataclasses.dataclass(frozen=True)
class Config:
    """The configuration of a run, section by section."""

    model: ModelConfig = ModelConfig()
    data: DataConfig = DataConfig()
    training: TrainingConfig = TrainingConfig()
    decoding: DecodingConfig = DecodingConfig()

    @classmethod
    def read(cls, folder: str | os.PathLike) -> "Config":
        """Reads `config.yaml` from a run's folder.

        Raises:
            InputError: the file is missing or damaged, or `updated` refuses
                its content.
        """
        path = pathlib.Path(folder) / "config.yaml"
        return cls().updated(read_yaml(path), str(path))

    def to_dict(self) -> dict:
        """Returns the sections as dicts that JSON and YAML can hold."""
        return {
            section: {
                key: list(value) if isinstance(value, tuple) else value
                for key, value in values.items()
            }
            for section, values in dataclasses.asdict(self).items()
        }

    def to_yaml(self) -> str:
        """Returns the content of a run's `config.yaml`."""
        return yaml.safe_dump(self.to_dict(), sort_keys=False)

    def updated(self, values: dict, where: str = "configuration") -> "Config":
        """Returns a copy with the given values replaced.

        Args:
            values: `{section: {key: value}}`, with any sections and keys.
            where: the origin of the values, for error messages.

        Raises:
            InputError: unknown section or key, wrong type or refused value.
        """
        sections = dict(vars(self))
        mapping(values, where)
        for name, part in values.items():
            known(name, sections, where)
            section = sections[name]
            mapping(part, f"{where}, section {name}")
            types_of = field_types(type(section))
            for key in part:
                known(key, types_of, where, prefix=f"{name}.")
            converted = {
                key: typed(f"{where}: {name}.{key}", value, types_of[key])
                for key, value in part.items()
            }
            if "batch_tokens" in converted:
                # A preset's batch_sentences would take precedence.
                converted.setdefault("batch_sentences", None)
            try:
                sections[name] = dataclasses.replace(section, **converted)
            except InputError as error:
                raise InputError(f"{where}: {error}") from None
        return Config(**sections)
