"""What annotations call the values of layers, on whatever backend they run.

Nothing is imported for that: layers run without TensorFlow, and without JAX.
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
