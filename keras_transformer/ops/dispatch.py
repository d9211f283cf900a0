"""Kernel dispatch: which implementation of an operation runs.

A kernel for another backend is one more entry of `KERNELS`: the module
`keras_transformer.ops.<backend>.<module>` with a function of the operation's
name and arguments.
"""

import functools
import importlib

import keras

# Backend -> operation -> module with the kernel. What isn't here runs the
# reference.
KERNELS = {
    "jax": {
        "attention": "fused_attention",
        "dropout": "random_dropout",
        "smoothed_nll": "token_losses",
        "token_nll": "token_losses",
    },
    "tensorflow": {
        "adam_update": "training_step",
        "argmax": "token_losses",
        "attention_scores": "matrix_products",
        "dense": "matrix_products",
        "dropout": "random_dropout",
        "dropout_matmul": "random_dropout",
        "relu_dropout": "random_dropout",
        "smoothed_nll": "token_losses",
        "standardize": "layer_norm",
        "token_nll": "token_losses",
        "train_function": "training_step",
    },
}


def dispatched(reference):
    """Decorates a reference so that a backend's kernel goes before it.

    A kernel returns `NotImplemented` for arguments that it isn't made for;
    then the reference runs. That itself is `operation.reference`.
    """

    @functools.wraps(reference)
    def operation(*args, **kwargs):
        kernel = find_kernel(keras.backend.backend(), reference.__name__)
        if kernel is not None:
            result = kernel(*args, **kwargs)
            if result is not NotImplemented:
                return result
        return reference(*args, **kwargs)

    operation.reference = reference
    return operation


@functools.cache
def find_kernel(backend: str, operation: str):
    """The backend's kernel of an operation, None if it has none."""
    module = KERNELS.get(backend, {}).get(operation)
    if module is None:
        return None
    module = importlib.import_module(f"{__package__}.{backend}.{module}")
    return getattr(module, operation)
