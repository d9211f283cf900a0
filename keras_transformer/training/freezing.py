"""Freezing: weights that training leaves as they are."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from typing import TYPE_CHECKING

from keras_transformer.errors import InputError

if TYPE_CHECKING:
    import keras


_SHOWN = 6


def freeze(model: keras.Model, patterns: Sequence[str]) -> None:
    """Makes the weights that match a pattern non-trainable.

    To be called before the model is compiled.

    Args:
        model: built `keras.Model`.
        patterns: `fnmatch` patterns of weight paths such as
            `encoder_layer_0/self_attention/query/kernel`, or of the layers in
            them: `encoder_layer_*` matches all of the encoder's layers. `*`
            matches `/` too.

    Raises:
        InputError: a pattern matches nothing, or nothing is left to train.
    """
    for pattern in patterns:
        matching = [w for w in model.weights if _matches(w.path, pattern)]
        if not matching:
            raise InputError(
                f"training.freeze: no weight matches {pattern!r}. Weights are, "
                f"for instance, {', '.join(_examples(model))}"
            )
        for weight in matching:
            weight.trainable = False
    if not model.trainable_weights:
        raise InputError(
            "training.freeze leaves no weight to train. Received: "
            f"{', '.join(patterns)}"
        )


def _matches(path, pattern):
    """True if the path, or that of an enclosing layer, fits the pattern."""
    parts = path.split("/")
    return any(
        fnmatch.fnmatchcase("/".join(parts[: end + 1]), pattern)
        for end in range(len(parts))
    )


def _examples(model):
    """Paths of weights in different layers, evenly from first to last."""
    firsts: dict = {}
    for weight in model.weights:
        firsts.setdefault(weight.path.partition("/")[0], weight.path)
    paths = list(firsts.values())
    return paths[:: -(-len(paths) // _SHOWN)]
