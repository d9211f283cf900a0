"""What Keras' backends are given for operations that they have ways of.

Layers, loss and optimizer are written in `keras.ops` and run everywhere. Where
a backend has something faster they ask for it here; the numbers agree.
"""

import keras


def fused():
    """The module of faster operations of Keras' backend; None: it has none.

    Returns:
        `keras_transformer.backend.tensorflow`, or None.
    """
    if keras.backend.backend() != "tensorflow":
        return None
    from keras_transformer.backend import tensorflow

    return tensorflow
