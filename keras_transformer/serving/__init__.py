"""A server of SavedModels with TensorFlow Serving's contract, and a client.

The client's names are imported on first use, without TensorFlow.
"""

from keras_transformer.lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
