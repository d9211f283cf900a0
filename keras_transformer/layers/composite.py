"""Composite layers: freezing of their sublayers."""

from __future__ import annotations

from typing import Any

import keras


class CompositeLayer(keras.layers.Layer):
    """A layer of sublayers, which are frozen with it.

    Keras freezes the sublayers that a layer has when `trainable` is set, and
    variables that come later, but not sublayers that come later. All of them
    do with the argument `trainable=False`, which is also how Keras loads and
    clones a frozen layer.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if isinstance(value, keras.layers.Layer) and not self.trainable:
            value.trainable = False
