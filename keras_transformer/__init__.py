"""Parallel text in, a translation model for TensorFlow Serving out.

The package imports nothing heavy: each room is imported by the one who needs
it.
"""

from keras_transformer.version import __version__

__all__ = ["__version__"]
