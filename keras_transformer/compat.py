"""Private attributes of other packages, each read in one place.

They may change with any version of these packages: `tests/test_compat.py` names
the missing ones. Written for Keras 3.15, TensorFlow 2.21 and uvicorn 0.54.

Packages are imported only when needed, as the server doesn't need Keras.
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

    Like `kernel_variable`: without `_embeddings` training with tied embeddings
    fails.
    """
    return embedding._embeddings


def keep_sentencepiece_model(
    tokenizer: tf.Module, model: bytes, name: str
) -> None:
    """Makes TF Text's tokenizer keep its model when kernels are cleared.

    The model belongs to a TensorFlow kernel, which `tf.random.set_seed` and
    `keras.utils.set_random_seed` delete, unless it has a name. Tokenizers of
    the same model share it.

    Args:
        tokenizer: `tensorflow_text.SentencepieceTokenizer`.
        model: the tokenizer's model.
        name: a name that no other model has.
    """
    from tensorflow_text.python.ops import sentencepiece_tokenizer as private

    class Named(private._SentencepieceModelResource):
        def _create_resource(self):
            # Exports need the name, too: without it, `tf.saved_model.load`
            # gives all tokenizers of a process the first one's model.
            return private.gen_sentencepiece_tokenizer.sentencepiece_op(
                model=model, shared_name=name
            )

    tokenizer._model_resource = Named(model, None)


def implicit_mask(x: Tensor) -> Tensor | None:
    """The mask `(B, S)` that a layer such as `Embedding` set on its output.

    Keras passes it to layers that are called. Without `get_keras_mask` and
    `set_keras_mask`, methods other than `call` would treat padding as text.
    """
    from keras.src.backend import get_keras_mask

    return get_keras_mask(x)


def set_implicit_mask(x: Tensor, mask: Tensor | None) -> None:
    """Sets a mask `(B, S)`, or none, on a layer's output."""
    from keras.src.backend import set_keras_mask

    set_keras_mask(x, mask)


def scaled_for_replicas(loss: Tensor) -> Tensor:
    """Divides a loss by the number of replicas of `tf.distribute`.

    Keras adds up the gradients of all replicas, and multiplies the reported
    loss by their number. `keras.losses.Loss.__call__` does this for losses that
    don't override it.
    """
    from keras.src.losses.loss import scale_loss_for_distribution

    return scale_loss_for_distribution(loss)


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
    """The `metrics` and `weighted_metrics` that `model.compile` got.

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
    # Set without tracking, as the model's `metrics` have it anyway.
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
    """True if an operation of this name is registered in the process.

    There is no public list of operations. Without `op_def_registry.get` an
    export fails at its checks, before it is published.
    """
    from tensorflow.python.framework import op_def_registry

    return op_def_registry.get(name) is not None


def session_with_plain_errors(
    graph: tf.Graph, config: tf.compat.v1.ConfigProto
) -> tf.compat.v1.Session:
    """A session whose errors have the runtime's message only.

    `tf.compat.v1.Session` adds where in Python the nodes in a message were
    made, which isn't known of a loaded graph. It searches for their names by a
    regular expression whose time grows with the square of the message, and no
    other thread runs meanwhile: 20 s for 70 kB. If a graph lacks a function,
    the message quotes all others.

    Without `_do_call` errors are that slow again.

    Args:
        graph: the graph that the session runs.
        config: see `tf.compat.v1.Session`.
    """
    import tensorflow as tf

    class Session(tf.compat.v1.Session):
        def _do_call(self, fn, *args):
            return fn(*args)

    return Session(graph=graph, config=config)


def dismantle_graph(graph: tf.Graph) -> None:
    """Breaks the cycles of a graph that is no longer used.

    A graph refers to itself, and Python would collect such cycles much later.
    Without `ops.dismantle_graph` a server fails when it unloads a version;
    omitting the call would only cost memory.

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
        inline: False keeps it a separate function in graphs that call it.

    TensorFlow counts tracings by a function's code, and would warn if a process
    traces it for five or more models or tokenizers. Without
    `_omit_frequent_tracing_warning` it does.
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
    on what a client sends and reads. Without its attributes `conn` (an
    `h11.Connection`), `app_state`, `connections`, `cycle` and `transport` every
    connection fails at once. Uvicorn is therefore pinned to a minor version.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    return H11Protocol


def cancel_keep_alive(protocol: Any) -> None:
    """Cancels the keep-alive timer of a `uvicorn_protocol`.

    After a reset, uvicorn's `connection_lost` doesn't: without its
    `_unset_keepalive_if_required` the objects of such a connection remain in
    memory until the timer ends.
    """
    protocol._unset_keepalive_if_required()


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

    Only works in graphs, on x86-64 processors. The operation's oneDNN kernels
    pack `kernel` at the first call and keep the result: `kernel`, `bias` and
    `largest` must never change. The packed kernel is found by the address of
    `largest`, which has to be a constant or a variable: if it were computed,
    each call would pack again, in several times the product's own time. Floats
    are float32, as bfloat16 results need AVX-512: without it they end the
    process. Without `_QuantizedMatMul` there is no precision int8.

    Args:
        inputs: qint8 or quint8 `(R, I)`, integers without a scale.
        kernel: qint8 `(I, O)`.
        bias: float32 `(O,)`.
        largest: float32 `(O,)`, the value of 127 in each column.
        addend: float32 `(R, O)` to add, or None.
        activation: such as "Relu", or None.
        limit: the value of 255 in a result of integers; None: a float result.

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
    """A float32 constant, of which a graph has one for each value.

    A loop spends time on each of its constants in each step, and no optimizer
    of graphs merges equal ones there.
    """
    import tensorflow as tf

    graph = tf.compat.v1.get_default_graph()
    # A function's graph starts with the collections of the outer graph, whose
    # constants would become arguments of the function.
    key = f"keras_transformer/scalars/{id(graph)}"
    made = graph.get_collection_ref(key)
    for known, tensor in made:
        if known == value and tensor.graph is graph:
            return tensor
    made.append((value, tf.constant(value, tf.float32)))
    return made[-1][1]


def _add_to_graph(operation, inputs, results, attributes):
    """Adds an operation without a Python function; returns its results."""
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
    # The default name would begin with the operation's "_", which is refused.
    name = operation.strip("_")
    node = graph.create_op(
        operation, inputs, results, attrs=attributes, name=name
    )
    return node.outputs
