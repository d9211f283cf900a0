"""Named configurations, each a recipe: see `presets.yaml` beside this file."""

import pathlib

from keras_transformer.config import Config
from keras_transformer.errors import InputError
from keras_transformer.files import read_yaml

PRESETS = read_yaml(pathlib.Path(__file__).with_suffix(".yaml"))


def preset(name: str) -> Config:
    """The configuration of that name.

    Raises:
        InputError: there is no such preset.
    """
    if name not in PRESETS:
        raise InputError(
            f"unknown preset {name!r}. Accepted: {', '.join(PRESETS)}"
        )
    return Config().updated(PRESETS[name], f"preset {name}")
