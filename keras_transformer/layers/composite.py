"""Composite layers: frozen sublayers, initializers, checks of inputs."""

from __future__ import annotations

from typing import Any

import keras

from keras_transformer.tensors import Initializer, Shape, Tensor


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


def own_initializer(initializer: Initializer) -> Initializer:
    """A copy, as one object starts all weights of a shape alike.

    Copies with a seed that was given do so, too, as in Keras' own layers.

    Args:
        initializer: its name, of which Keras makes a new one, an object, or a
            function, which stays as it is.
    """
    if isinstance(initializer, str):
        return initializer
    initializer = keras.initializers.get(initializer)
    is_object = isinstance(initializer, keras.initializers.Initializer)
    return initializer.clone() if is_object else initializer


def initializers_config(layer: keras.layers.Layer) -> dict:
    """What `get_config` says of a layer's two initializers."""
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
    """Refuses inputs of another width than a layer was made or built for.

    A Python comparison of static shapes, which adds nothing to a graph.

    Args:
        layer: a Keras layer.
        name: of its argument.
        shape: of what it got.
        width: int, D.
        any_axes: bool, whether inputs are `(..., D)` and not `(B, T, D)`.

    Raises:
        ValueError: names the layer, what it takes, and what it got.
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

    A functional model records calls of layers. Made of the sublayers that such
    a method calls, it could be neither run nor loaded.

    Raises:
        ValueError: one of the tensors is a `keras.KerasTensor`.
    """
    if any(isinstance(tensor, keras.KerasTensor) for tensor in tensors):
        raise ValueError(
            f"{type(layer).__name__}.{method} takes tensors with values. "
            "Received: a symbolic one, as of keras.Input. Accepted in a model: "
            f"a layer of your own whose call calls {method}"
        )
