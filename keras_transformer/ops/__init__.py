"""Operations that backends may have kernels of their own for.

`reference` has each operation in `keras.ops`, which runs everywhere.
`dispatch` has the table of kernels by backend; `tensorflow` has those of
TensorFlow. Whoever calls an operation doesn't choose.
"""

from keras_transformer.ops.reference import (
    adam_update,
    argmax,
    attention_scores,
    dense,
    dropout,
    dropout_matmul,
    relu_dropout,
    smoothed_nll,
    standardize,
    token_nll,
    train_function,
)

__all__ = [
    "adam_update",
    "argmax",
    "attention_scores",
    "dense",
    "dropout",
    "dropout_matmul",
    "relu_dropout",
    "smoothed_nll",
    "standardize",
    "token_nll",
    "train_function",
]
