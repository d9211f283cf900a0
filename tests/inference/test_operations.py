"""What a step is made of: one sentence waits for each operation to start."""

import collections

import pytest
import tensorflow as tf

from keras_transformer.inference.incremental import IncrementalTransformer
from tests.inference.test_quantization import limits_of, needs_vnni
from tests.toy_models import shared_transformer

# For one decoder layer of three, constants left out, what a step does once
# included.
CEILINGS = {"float32": 79, "bfloat16": 93, "int8": 94}


def operations(dtype, beam_size=1):
    """How many of each kind the graph of a step has, and its layers."""
    limits = limits_of("pre") if dtype == "int8" else None
    made = IncrementalTransformer(
        shared_transformer("pre"), dtype, limits=limits
    )
    source = tf.TensorSpec([None, None], tf.int32)
    cache = tf.function(
        lambda ids: made.start(ids, beam_size, 4), autograph=False
    ).get_concrete_function(source)
    specs = tf.nest.map_structure(
        lambda tensor: tf.TensorSpec(tensor.shape, tensor.dtype),
        cache.structured_outputs,
    )

    def step(ids, past, position):
        return made.step(ids, past, position).logits

    graph = (
        tf.function(step, autograph=False)
        .get_concrete_function(
            tf.TensorSpec([None, beam_size], tf.int32),
            specs,
            tf.TensorSpec([], tf.int32),
        )
        .graph
    )
    kinds = collections.Counter(node.type for node in graph.get_operations())
    return kinds, len(made.parameters.decoder)


@pytest.mark.parametrize(
    "dtype",
    ["float32", "bfloat16", pytest.param("int8", marks=needs_vnni)],
)
def test_a_layer_has_no_more_operations_than_it_had(dtype):
    kinds, layers = operations(dtype)
    left_out = kinds["Const"] + kinds["Placeholder"]
    assert (sum(kinds.values()) - left_out) / layers <= CEILINGS[dtype]


@needs_vnni
def test_integer_products_read_their_kernels_alone():
    """Biases and ranges, which are small, are constants of the graph."""
    kinds, _ = operations("int8")
    embeddings = 2
    assert kinds["ReadVariableOp"] <= kinds["_QuantizedMatMul"] + embeddings
