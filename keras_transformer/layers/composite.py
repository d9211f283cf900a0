"""Composite layers: frozen sublayers, initializers, checks of inputs."""

from __future__ import annotations

from typing import Any

import keras

from keras_transformer.tensors import Initializer, Shape, Tensor


class CompositeLayer(keras.layers.Layer):
    """A layer whose sublayers are frozen together with it.

    In Keras, setting `trainable` reaches the sublayers that a layer has at
    that time, and variables added later, but not sublayers added later. With
    the argument `trainable=False`, by which Keras also loads and clones a
    frozen layer, all sublayers are added later.
    """

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if isinstance(value, keras.layers.Layer) and not self.trainable:
            value.trainable = False


def own_initializer(initializer: Initializer) -> Initializer:
    """Copies an initializer, which gives equal values if used twice.

    Copies of one with an explicit seed do, too, as in Keras' own layers.

    Args:
        initializer: a name, from which Keras makes a new object; an object,
            which is cloned; or a function, which is returned as it is.
    """
    if isinstance(initializer, str):
        return initializer
    initializer = keras.initializers.get(initializer)
    is_object = isinstance(initializer, keras.initializers.Initializer)
    return initializer.clone() if is_object else initializer


def initializers_config(layer: keras.layers.Layer) -> dict:
    """The entries of `get_config` for a layer's two initializers."""
    return {
        name: keras.initializers.serialize(getattr(layer, name))
        for name in ("kernel_initializer", "bias_initializer")
    }


def check_width(
    layer: keras.layers.Layer,
    name: str,
    shape: Shape,
    width: int | None,
    any_axes: bool = False,
) -> None:
    """Refuses inputs whose width isn't the one that a layer was built for.

    A Python comparison of static shapes, which adds nothing to a graph.

    Args:
        layer: a Keras layer.
        name: name of the layer's argument.
        shape: shape of the tensor that was passed.
        width: int, D.
        any_axes: bool, whether inputs are `(..., D)` and not `(B, T, D)`.

    Raises:
        ValueError: `shape` has another width, or another number of axes.
    """
    rank = max(len(shape), 1) if any_axes else 3
    if len(shape) != rank or shape[-1] not in (None, width):
        axes = "..." if any_axes else "batch, length"
        raise ValueError(
            f"{type(layer).__name__} of width {width} takes {name} of shape "
            f"({axes}, {width}). Received: {tuple(shape)}"
        )


def refuse_symbolic(
    layer: keras.layers.Layer, method: str, *tensors: Tensor | None
) -> None:
    """Refuses symbolic tensors, for methods that Keras doesn't record.

    A functional model records only calls of layers. It would record those of
    the sublayers that such a method calls, and could be neither run nor
    loaded.

    Raises:
        ValueError: one of the tensors is a `keras.KerasTensor`.
    """
    if any(isinstance(tensor, keras.KerasTensor) for tensor in tensors):
        raise ValueError(
            f"{type(layer).__name__}.{method} takes tensors with values. "
            "Received: a symbolic tensor, as of keras.Input. For a model, call "
            f"{method} in the `call` of a layer of your own"
        )
