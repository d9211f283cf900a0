"""Type aliases for the annotations of layers, whatever their backend.

No backend is imported at run time: layers run without TensorFlow or JAX.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import jax
    import keras
    import numpy as np
    import tensorflow as tf

    Tensor: TypeAlias = keras.KerasTensor | tf.Tensor | jax.Array | np.ndarray
    Initializer: TypeAlias = (
        str | keras.initializers.Initializer | Callable[..., Any]
    )
else:
    Tensor = Initializer = Any

# Sizes of axes, None where they are free.
Shape: TypeAlias = Sequence[int | None]
# A name that Keras knows, or a function.
Activation: TypeAlias = str | Callable[[Any], Any]
