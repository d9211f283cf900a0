"""Operations of a training step that TensorFlow has faster ways for."""

from keras_transformer.backend.tensorflow.dropout import (
    dropout,
    dropout_matmul,
    relu_dropout,
)
from keras_transformer.backend.tensorflow.loss import smoothed_nll, token_nll
from keras_transformer.backend.tensorflow.normalization import layer_norm
from keras_transformer.backend.tensorflow.steps import (
    adam_update,
    train_function,
)

__all__ = [
    "adam_update",
    "dropout",
    "dropout_matmul",
    "layer_norm",
    "relu_dropout",
    "smoothed_nll",
    "token_nll",
    "train_function",
]
