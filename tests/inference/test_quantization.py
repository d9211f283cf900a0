"""Products of 8-bit integers, and models made of them."""

import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.errors import InputError
from keras_transformer.exporting.writer.precision import calibrate
from keras_transformer.inference import quantization
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.inference.quantization import (
    map_projections,
    quantized_dense,
    quantized_relu,
    require_int8,
)
from keras_transformer.inference.weight_fusion import (
    Projection,
    as_variables,
    read_parameters,
)
from keras_transformer.system.machine import multiplies_int8
from tests.inference.test_incremental import SOURCE, TARGETS, stepped
from tests.toy_models import VARIANTS, shared_transformer

needs_vnni = pytest.mark.skipif(
    not multiplies_int8(), reason="the processor has no VNNI"
)
RANDOM = np.random.default_rng(3)
KERNEL = RANDOM.normal(size=(32, 24)) * np.geomspace(0.01, 10, 24)
KERNEL[:, 5] = 0
BIAS = RANDOM.normal(size=24)
INPUTS = RANDOM.normal(size=(7, 32)).astype(np.float32)
INPUTS[3] = 0
RESIDUAL = RANDOM.normal(size=(7, 24)).astype(np.float32)


def projection(limit=None, rectified=False, kernel=KERNEL, bias=BIAS):
    """One product, as variables."""
    made = quantization._quantized(Projection(kernel, bias), limit, rectified)
    return made._replace(
        kernel=tf.Variable(tf.bitcast(made.kernel, tf.qint8)),
        largest=tf.Variable(made.largest),
        bias=tf.Variable(made.bias),
    )


def rounded(kernel=KERNEL):
    """What the integers of a kernel stand for."""
    largest = np.maximum(np.abs(kernel).max(axis=0), 1e-8)
    return np.rint(kernel / largest * 127) / 127 * largest


def in_graph(function, *inputs):
    return tf.function(function, autograph=False)(
        *map(tf.constant, inputs)
    ).numpy()


@needs_vnni
@pytest.mark.parametrize("limit", [None, 2.0])
@pytest.mark.parametrize("residual", [None, RESIDUAL])
def test_products_are_those_of_rounded_numbers(limit, residual):
    made = projection(limit)
    largest = limit or np.abs(INPUTS).max(axis=1, keepdims=True) + 1e-12
    inputs = np.rint(np.clip(INPUTS / largest, -1, 1) * 127) / 127 * largest
    expected = inputs @ rounded() + BIAS
    if residual is not None:
        expected += residual
    result = in_graph(
        lambda x: quantized_dense(x, made, residual=residual), INPUTS
    )
    # A half may be rounded up or to even: one step of one input.
    step = np.max(largest) / 127 * np.abs(KERNEL).max(axis=0)
    assert (np.abs(result - expected) <= step * 1.01 + 1e-4).all()
    assert np.abs(result - expected).mean() < 1e-3


@needs_vnni
def test_rectified_integers_go_into_the_next_product():
    outer = RANDOM.normal(size=(24, 16))
    bias = RANDOM.normal(size=16)
    hidden = np.maximum(INPUTS @ KERNEL + BIAS, 0)
    limit = float(hidden.max())
    first = projection(float(np.abs(INPUTS).max()))
    second = projection(limit, True, outer, bias)

    def both(x):
        integers = quantized_relu(x, first, second)
        assert integers.dtype == tf.quint8
        return quantized_dense(integers, second)

    expected = hidden @ outer + bias
    error = in_graph(both, INPUTS) - expected
    assert np.sqrt((error**2).mean() / (expected**2).mean()) < 0.02


@needs_vnni
@pytest.mark.parametrize("limit", [None, 2.0])
def test_a_row_is_the_same_alone(limit):
    made = projection(limit)
    product = tf.function(lambda x: quantized_dense(x, made), autograph=False)
    together = product(tf.constant(INPUTS)).numpy()
    for row in range(len(INPUTS)):
        alone = product(tf.constant(INPUTS[row : row + 1])).numpy()
        np.testing.assert_array_equal(alone[0], together[row])


@needs_vnni
def test_what_is_beyond_the_limit_is_cut_off():
    made = projection(1.0)
    inputs = np.where(INPUTS > 0, 1e30, -1e30).astype(np.float32)
    at_limit = np.sign(inputs).astype(np.float32)
    product = tf.function(lambda x: quantized_dense(x, made), autograph=False)
    np.testing.assert_array_equal(product(inputs), product(at_limit))


def limits_of(variant):
    sources = [SOURCE[:1], SOURCE[1:, :3]]
    batches = [
        (source, TARGETS[i : i + 1, k])
        for i, source in enumerate(sources)
        for k in range(3)
    ]
    return calibrate(shared_transformer(variant), batches)


def test_limits_are_those_of_each_product():
    limits = limits_of("pre")
    names = []
    map_projections(
        read_parameters(shared_transformer("pre")),
        lambda name, p: names.append(name),
    )
    assert list(limits) == names
    assert {"source_kv", "logits", "decoder/0/feedforward/outer"} <= set(names)
    # What follows a norm can't be larger than the root of the width.
    width = shared_transformer("pre").get_layer("decoder_layer_0").d_model
    assert 0 < limits["logits"] < width**0.5


@pytest.mark.medium
@needs_vnni
@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("variant", VARIANTS)
def test_models_are_near_those_of_floats(variant, static):
    full = IncrementalTransformer(shared_transformer(variant))
    made = quantized(static, variant)

    def probabilities(functions):
        graph = tf.function(
            lambda: functions.predict(SOURCE, TARGETS[:, 0])[0], autograph=False
        )
        return tf.nn.log_softmax(graph()).numpy()

    expected = probabilities(full)
    spread = expected.std()
    error = np.sqrt(((probabilities(made) - expected) ** 2).mean())
    # Wide, as these models are narrow: few products are in a sum.
    assert 0 < error < 0.2 * spread


def quantized(static=True, variant="pre"):
    """A model of integers."""
    limits = limits_of(variant) if static else None
    model = shared_transformer(variant)
    return IncrementalTransformer(model, "int8", limits=limits)


@pytest.mark.medium
@needs_vnni
@pytest.mark.parametrize("static", [False, True])
def test_steps_equal_a_full_pass(static):
    made = quantized(static)
    steps = tf.function(
        lambda: stepped(made, SOURCE, TARGETS), autograph=False
    )().numpy()  # (B, K, T, V)
    for beam in range(3):
        graph = tf.function(
            lambda beam=beam: made.predict(SOURCE, TARGETS[:, beam])[0],
            autograph=False,
        )
        # Float arithmetic between the products differs in its last digits,
        # and with it, now and then, an integer.
        np.testing.assert_allclose(
            steps[:, beam], graph().numpy(), atol=0.1 * steps.std()
        )


@needs_vnni
@pytest.mark.parametrize("is_static", [True, False])
def test_ranges_of_products_are_stored(is_static):
    """Computed ones have another address in each call.

    Then each call makes what it multiplies by anew. Nor has each product
    constants of its own.
    """
    made = quantized(is_static)

    @tf.function(
        input_signature=[tf.TensorSpec([None, 5], tf.int32)], autograph=False
    )
    def step(ids):
        return made.step(ids[:, :1], made.start(ids, 1, 4), 0).logits

    operations = step.get_concrete_function().graph.get_operations()
    products = [o for o in operations if o.type == "_QuantizedMatMul"]
    assert len(products) > 10
    ranges = [
        list(o.inputs)[3 + (b"Add" in o.get_attr("fused_ops")) :]
        for o in products
    ]
    kinds = {tensor.op.type for some in ranges for tensor in some}
    assert kinds == {"Const"}
    for end in range(2):  # Least and largest integer.
        assert len({(some[end].dtype, some[end].ref()) for some in ranges}) == 1


def test_another_tensorflow_is_refused(monkeypatch):
    monkeypatch.setattr(quantization, "has_avx2", lambda: True)
    monkeypatch.setattr(quantization, "is_operation", lambda name: False)
    with pytest.raises(InputError, match="_QuantizedMatMul, which TensorFlow"):
        require_int8()


OTHER_PROCESSOR = """
import itertools
import numpy as np
from tests.inference.test_quantization import in_graph, projection
from keras_transformer.inference.quantization import quantized_dense
random = np.random.default_rng(1)
kernel, inputs = random.normal(size=(256, 64)), random.normal(size=(40, 256))
inputs = inputs.astype(np.float32)
expected = inputs @ kernel
for limit, dtype in itertools.product((None, 4.0), ("float32", "bfloat16")):
    made = projection(limit, kernel=kernel, bias=np.zeros(64))
    found = in_graph(lambda x: quantized_dense(x, made, dtype), inputs)
    error = found.astype(np.float32) - expected
    assert np.sqrt((error**2).mean() / (expected**2).mean()) < 0.03, limit
print("right")
"""


@pytest.mark.medium
@needs_vnni
def test_results_are_right_without_vnni():
    """As on a processor with AVX2 alone, whose sums are of 16 bits.

    They are cut off where two neighbours of a column, both near its largest,
    meet large inputs: seldom in columns of usual length.
    """
    done = subprocess.run(
        [sys.executable, "-c", OTHER_PROCESSOR],
        env={**os.environ, "ONEDNN_MAX_CPU_ISA": "AVX2"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.strip() == "right", done.stderr[-2000:]


def test_in_bfloat16_logits_are_float32():
    parameters = as_variables(
        read_parameters(shared_transformer("pre")), "bfloat16"
    )
    assert isinstance(parameters.logits, Projection)
    assert parameters.logits.kernel.dtype == tf.float32
    inner = parameters.decoder[0].feedforward.inner
    assert inner.kernel.dtype == tf.bfloat16
