"""Arrays against the description of a signature's tensors."""

import numpy as np
import tensorflow as tf

from keras_transformer.contract.errors import invalid_argument


def dtype_name(info) -> str:
    """The name of a tensor's type, as TensorFlow's messages have it.

    Args:
        info: `TensorInfo` of a signature.
    """
    return {"float32": "float", "float64": "double"}.get(
        tf.as_dtype(info.dtype).name, tf.as_dtype(info.dtype).name
    )


def numpy_dtype(info):
    """The type of an array that a tensor takes; `object` for strings."""
    return np.dtype(tf.as_dtype(info.dtype).as_numpy_dtype)


def complete_inputs(signature, inputs: dict) -> dict:
    """The inputs of a call, with the signature's defaults for what is missing.

    Args:
        signature: `SignatureDef`.
        inputs: arrays by name.

    Returns:
        an array for each of the signature's inputs.

    Raises:
        ServingError: a name is missing or too many, or an array has another
            type or shape.
    """
    missing = check_names(signature, inputs)
    for name, array in inputs.items():
        _check(name, array, signature.inputs[name])
    defaults = {
        name: tf.make_ndarray(signature.defaults[name]) for name in missing
    }
    return {**inputs, **defaults}


def check_names(signature, names) -> list[str]:
    """Refuses inputs that a signature doesn't have or that it lacks.

    Args:
        signature: `SignatureDef`.
        names: of the inputs of a call.

    Returns:
        those that have their defaults.

    Raises:
        ServingError: a name is missing or too many.
    """
    missing = sorted(signature.inputs.keys() - set(names))
    extra = sorted(set(names) - signature.inputs.keys())
    required = [name for name in missing if name not in signature.defaults]
    if extra or required:
        raise invalid_argument(_size_message(signature, names, extra, missing))
    return missing


def count_rows(inputs: dict) -> int:
    """The size of the first axis that all inputs share.

    Returns:
        the rows of a request; 1 where an input is a scalar, or the inputs
        differ: such a request can't be joined with others.
    """
    sizes = {
        array.shape[0] if array.ndim else None for array in inputs.values()
    }
    return sizes.pop() if len(sizes) == 1 and None not in sizes else 1


def _size_message(signature, inputs, extra, missing):
    return (
        f"input size does not match signature: {len(inputs)}!="
        f"{len(signature.inputs)} len({{{','.join(sorted(inputs))}}}) != "
        f"len({{{','.join(sorted(signature.inputs))}}}). "
        f"Sent extra: {{{','.join(extra)}}}. "
        f"Missing but required: {{{','.join(missing)}}}."
    )


def _check(name, array, info):
    if array.dtype != numpy_dtype(info):
        got = {"object": "string", "float32": "float", "float64": "double"}
        raise invalid_argument(
            f"Expects input {name} to be {dtype_name(info)} but "
            f"{got.get(array.dtype.name, array.dtype.name)} is provided"
        )
    shape = info.tensor_shape
    if shape.unknown_rank:
        return
    sizes = [dimension.size for dimension in shape.dim]
    fits = len(sizes) == array.ndim and all(
        wanted in (-1, size)
        for wanted, size in zip(sizes, array.shape, strict=True)
    )
    if not fits:
        wanted = ",".join("?" if size < 0 else str(size) for size in sizes)
        got = ",".join(map(str, array.shape))
        raise invalid_argument(
            f"The shape of input {name} must be [{wanted}]. Received: [{got}]"
        )
