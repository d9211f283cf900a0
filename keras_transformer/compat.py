"""Private attributes of other packages, each read in one place.

What stands here may change with any version of them: `tests/test_compat.py`
names what is missing. Written for Keras 3.15, TensorFlow 2.21 and uvicorn 0.54.

Nothing is imported before it is needed: the server has no use for Keras.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import keras
    import numpy as np
    import tensorflow as tf

    from keras_transformer.tensors import Tensor


def kernel_variable(dense: keras.layers.Dense) -> keras.Variable:
    """The variable behind `keras.layers.Dense.kernel`.

    The public property may be a tensor computed from it (quantisation, LoRA),
    which has no `trainable`. Without `_kernel` a frozen kernel's gradient
    can't be left out: training fails at the first product.
    """
    return dense._kernel


def embeddings_variable(embedding: keras.layers.Embedding) -> keras.Variable:
    """The variable behind `keras.layers.Embedding.embeddings`.

    As `kernel_variable`: training with tied embeddings fails without
    `_embeddings`.
    """
    return embedding._embeddings


def keep_sentencepiece_model(
    tokenizer: tf.Module, model: bytes, name: str
) -> None:
    """Has TF Text's tokenizer keep its model when kernels are cleared.

    The model belongs to a kernel of TensorFlow's, which `tf.random.set_seed`
    and `keras.utils.set_random_seed` delete, unless it has a name. Tokenizers
    of the same model share it.

    Args:
        tokenizer: `tensorflow_text.SentencepieceTokenizer`.
        model: of it.
        name: of that model, and of no other one.
    """
    from tensorflow_text.python.ops import sentencepiece_tokenizer as private

    class Named(private._SentencepieceModelResource):
        def _create_resource(self):
            # In an export, too: without names, `tf.saved_model.load` gives
            # all tokenizers of a process the first one's model.
            return private.gen_sentencepiece_tokenizer.sentencepiece_op(
                model=model, shared_name=name
            )

    tokenizer._model_resource = Named(model, None)


def implicit_mask(x: Tensor) -> Tensor | None:
    """The mask `(B, S)` that a layer such as `Embedding` left with its output.

    Keras hands it to layers that are called. Without `get_keras_mask` and
    `set_keras_mask`, methods other than `call` see padding as text.
    """
    from keras.src.backend import get_keras_mask

    return get_keras_mask(x)


def set_implicit_mask(x: Tensor, mask: Tensor | None) -> None:
    """Leaves a mask `(B, S)`, or none, with a layer's output."""
    from keras.src.backend import set_keras_mask

    set_keras_mask(x, mask)


def adam_moments(
    optimizer: keras.optimizers.Adam, variable: keras.Variable
) -> tuple[keras.Variable, keras.Variable]:
    """The first and second moment that a built Adam keeps for a variable.

    Without `_momentums`, `_velocities` or `_get_variable_index` TensorFlow's
    kernel of `ops.adam_update` fails at the first step; the reference needs
    none of them.

    Returns:
        two `keras.Variable`s in the shape of `variable`.
    """
    index = optimizer._get_variable_index(variable)
    return optimizer._momentums[index], optimizer._velocities[index]


def compiled_metrics(model: keras.Model) -> list:
    """What `metrics` and `weighted_metrics` of `model.compile` were given.

    Without `_compile_metrics._user_metrics` training in micro-batches fails
    at the first step. The public `model.metrics` has them only once they are
    built.

    Returns:
        list of metrics, names and functions.
    """
    import keras

    metrics = model._compile_metrics
    if metrics is None:
        return []
    given = metrics._user_metrics, metrics._user_weighted_metrics
    return [metric for metric in keras.tree.flatten(given) if metric]


def set_loss_tracker(model: keras.Model, metric: keras.metrics.Metric) -> None:
    """Replaces the metric by which a compiled model averages its loss.

    Keras weighs the loss of each batch by its rows, padded ones included.
    Without `_loss_tracker` compiling a model to train it fails.

    Args:
        model: compiled `keras.Model`.
        metric: `keras.metrics.Metric` named "loss".
    """
    # Not tracked: the model's `metrics` have it anyway.
    object.__setattr__(model, "_loss_tracker", metric)


def coordination_client() -> Any:
    """JAX's connection to the coordination service of several hosts.

    `jax.distributed` has no public barrier or key-value store. Without
    `global_state.client` several hosts fail before they train; one process
    needs none of it.
    """
    from jax._src import distributed

    return distributed.global_state.client


def is_operation(name: str) -> bool:
    """Whether an operation of this name is registered in the process.

    There is no public list of them. Without `op_def_registry.get` an export
    fails at its checks, before it is published.
    """
    from tensorflow.python.framework import op_def_registry

    return op_def_registry.get(name) is not None


def session_with_plain_errors(
    graph: tf.Graph, config: tf.compat.v1.ConfigProto
) -> tf.compat.v1.Session:
    """A session whose errors say what the runtime said, and no more.

    `tf.compat.v1.Session` adds to a message where in Python its nodes were
    made, which a loaded graph doesn't know. It looks for their names by a
    regular expression whose time grows with the square of the message, and no
    other thread runs meanwhile: 20 s for 70 kB. A graph that lacks a function
    has a message that quotes all others.

    Without `_do_call` errors are as slow again.

    Args:
        graph: that it runs.
        config: see `tf.compat.v1.Session`.
    """
    import tensorflow as tf

    class Session(tf.compat.v1.Session):
        def _do_call(self, fn, *args):
            return fn(*args)

    return Session(graph=graph, config=config)


def dismantle_graph(graph: tf.Graph) -> None:
    """Breaks the cycles of a graph that is no longer used.

    It refers to itself, and Python would look for such cycles much later.
    Without `ops.dismantle_graph` a server fails when it unloads a version;
    leaving it out costs memory only.

    Args:
        graph: `tf.Graph`, unusable afterwards.
    """
    from tensorflow.python.framework import ops

    ops.dismantle_graph(graph)


def graph_function(
    function: Callable,
    signature: Sequence[tf.TensorSpec],
    inline: bool = True,
) -> tf.types.experimental.PolymorphicFunction:
    """A `tf.function` of one signature, traced once.

    Args:
        function: from tensors to tensors.
        signature: of its arguments.
        inline: False keeps it apart from the graphs that call it.

    TensorFlow counts tracings by a function's code, and warns where it is made
    for one model or tokenizer after another, five or more in a process.
    Without `_omit_frequent_tracing_warning` it does so.
    """
    import tensorflow as tf

    attributes = None if inline else {"_noinline": True}
    traced = tf.function(
        function,
        input_signature=signature,
        autograph=False,
        experimental_attributes=attributes,
    )
    traced._omit_frequent_tracing_warning = True
    return traced


def uvicorn_protocol() -> type:
    """uvicorn's class of an HTTP/1.1 connection, an `asyncio.Protocol`.

    `serving.server.http_protocol` subclasses it, since uvicorn has no limits
    of its own on what a client sends and reads. Without its attributes `conn`
    (an `h11.Connection`), `app_state`, `connections`, `cycle` and `transport`
    every connection fails at once. Uvicorn is pinned to a minor version for
    that.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    return H11Protocol


def quantized_matmul(
    inputs: tf.Tensor,
    kernel: tf.Tensor,
    bias: tf.Tensor | np.ndarray,
    largest: tf.Tensor | np.ndarray,
    *,
    addend: tf.Tensor | None = None,
    activation: str | None = None,
    limit: tf.Tensor | float | None = None,
) -> tf.Tensor:
    """A matrix product of 8-bit integers, by TensorFlow's operation for it.

    Only in graphs. It has kernels for x86-64 processors, of oneDNN, which pack
    the kernel at the first call and keep it: what is given for `kernel`,
    `bias` and `largest` must never change. What they made they find again by
    the address of `largest`, so this has to be a constant or a variable: if it
    were computed, each call would make all anew, in several times the
    product's own time. Its floats are float32: to give bfloat16 it needs
    AVX-512, and without that ends the process. Without `_QuantizedMatMul` there
    is no precision int8.

    Args:
        inputs: qint8 or quint8 `(R, I)`, integers that stand for themselves.
        kernel: qint8 `(I, O)`.
        bias: float32 `(O,)`.
        largest: float32 `(O,)`, what 127 stands for in each column.
        addend: float32 `(R, O)`, added; None: nothing.
        activation: such as "Relu"; None: none.
        limit: what 255 stands for in a result of integers; None: it isn't.

    Returns:
        `(R, O)`: quint8 with a `limit`, else float32.
    """
    import tensorflow as tf

    operations = ["BiasAdd"]
    if activation is not None:
        operations.append(activation)
    tensors = [*map(tf.convert_to_tensor, (inputs, kernel, bias))]
    if addend is not None:
        operations.append("Add")
        tensors.append(tf.convert_to_tensor(addend))
    least, most = (0.0, 255.0) if inputs.dtype == tf.quint8 else (-127.0, 127.0)
    tensors += [scalar(least), scalar(most)]
    # The least and the largest of each column, of which the operation takes
    # whichever is further from 0.
    tensors += [tf.convert_to_tensor(largest)] * 2
    results = [tf.float32]
    if limit is None:
        operations.append("Dequantize")
    else:
        operations.append("Requantize")
        tensors += [scalar(0.0), scalar(limit)]
        results = [tf.quint8, tf.float32, tf.float32]
    return _add_to_graph(
        "_QuantizedMatMul",
        tensors,
        results,
        {
            "T1": inputs.dtype,
            "T2": kernel.dtype,
            "Tbias": tf.as_dtype(bias.dtype),
            "U": tf.float32,
            "Tout": results[0],
            "Tdevice_inputs": [],
            "Thost_inputs": [tensor.dtype for tensor in tensors],
            "Tdevice_outputs": [],
            "Thost_outputs": results,
            "fused_ops": operations,
        },
    )[0]


def scalar(value: float) -> tf.Tensor:
    """A float32 constant, the same tensor for all who ask in a graph.

    A loop spends time on each of its constants in each step, and nothing that
    optimizes graphs joins equal ones there.
    """
    import tensorflow as tf

    graph = tf.compat.v1.get_default_graph()
    # A function's graph begins with the collections of the one around it,
    # whose constants would be arguments to it.
    key = f"keras_transformer/scalars/{id(graph)}"
    made = graph.get_collection_ref(key)
    for known, tensor in made:
        if known == value and tensor.graph is graph:
            return tensor
    made.append((value, tf.constant(value, tf.float32)))
    return made[-1][1]


def _add_to_graph(operation, inputs, results, attributes):
    """An operation that has no function in Python; its results."""
    import tensorflow as tf
    from tensorflow.core.framework.attr_value_pb2 import AttrValue

    def encoded(value):
        if isinstance(value, tf.DType):
            return AttrValue(type=value.as_datatype_enum)
        listed = AttrValue.ListValue()
        for item in value:
            if isinstance(item, str):
                listed.s.append(item.encode())
            else:
                listed.type.append(item.as_datatype_enum)
        return AttrValue(list=listed)

    graph = tf.compat.v1.get_default_graph()
    attributes = {name: encoded(value) for name, value in attributes.items()}
    # By itself the name would begin with the operation's "_", which none may.
    name = operation.strip("_")
    node = graph.create_op(
        operation, inputs, results, attrs=attributes, name=name
    )
    return node.outputs
