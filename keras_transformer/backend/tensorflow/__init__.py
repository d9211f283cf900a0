"""Operations of a training step that TensorFlow has faster ways for."""

from keras_transformer.backend.tensorflow.attention import masked_scores
from keras_transformer.backend.tensorflow.dense import dense
from keras_transformer.backend.tensorflow.dropout import (
    dropout,
    dropout_matmul,
    relu_dropout,
)
from keras_transformer.backend.tensorflow.loss import (
    argmax,
    smoothed_nll,
    token_nll,
)
from keras_transformer.backend.tensorflow.normalization import standardize
from keras_transformer.backend.tensorflow.steps import (
    AdamStep,
    train_function,
)

__all__ = [
    "AdamStep",
    "argmax",
    "dense",
    "dropout",
    "dropout_matmul",
    "masked_scores",
    "relu_dropout",
    "smoothed_nll",
    "standardize",
    "token_nll",
    "train_function",
]
