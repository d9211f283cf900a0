"""What a configuration leaves to the machine that a run starts on."""

from keras_transformer.config import Config
from keras_transformer.machine import (
    has_gpu,
    multiplies_bfloat16,
    usable_cores,
)


def for_this_machine(config: Config) -> Config:
    """The configuration with threads and precision chosen, if they are open.

    A run keeps them, wherever it goes on: its weights depend on both, as
    dropout is drawn for each thread's part of a batch.
    """
    chosen = {}
    if config.training.threads is None:
        chosen["threads"] = 1 if has_gpu() else usable_cores()
    if config.training.precision == "auto":
        chosen["precision"] = (
            "mixed_bfloat16" if multiplies_bfloat16() else "float32"
        )
    return config.updated({"training": chosen})


def left_open(config: Config) -> tuple[str, ...]:
    """The names of the training values that `for_this_machine` chooses."""
    names = []
    if config.training.threads is None:
        names.append("threads")
    if config.training.precision == "auto":
        names.append("precision")
    return tuple(names)
