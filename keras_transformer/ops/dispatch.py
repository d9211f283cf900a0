"""Kernel dispatch: chooses the implementation of an operation.

A kernel for another backend is one more entry of `KERNELS`: the module
`keras_transformer.ops.<backend>.<module>` with a function of the operation's
name and arguments.
"""

import functools
import importlib
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar, cast

import keras

# Backend -> operation -> module with the kernel. Other operations run the
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


P = ParamSpec("P")
R = TypeVar("R")


class Operation(Protocol[P, R]):
    """A function that a backend may have a kernel for.

    Attributes:
        reference: the function that runs without a kernel.
    """

    reference: Callable[P, R]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Runs the kernel, or else the reference."""


def dispatched(reference: Callable[P, R]) -> Operation[P, R]:
    """Decorates a reference so that a backend's kernel runs instead.

    A kernel returns `NotImplemented` for arguments that it doesn't support;
    then the reference runs, which is also `operation.reference`.
    """

    @functools.wraps(reference)
    def operation(*args: P.args, **kwargs: P.kwargs) -> R:
        kernel = find_kernel(keras.backend.backend(), reference.__name__)
        if kernel is not None:
            result = kernel(*args, **kwargs)
            if result is not NotImplemented:
                return result
        return reference(*args, **kwargs)

    dispatching = cast(Operation[P, R], operation)
    dispatching.reference = reference
    return dispatching


@functools.cache
def find_kernel(backend: str, operation: str) -> Callable[..., Any] | None:
    """The backend's kernel of an operation, None if it has none."""
    module = KERNELS.get(backend, {}).get(operation)
    if module is None:
        return None
    name = f"{__package__}.{backend}.{module}"
    return getattr(importlib.import_module(name), operation)
