"""The program of a training step, as JAX hands it to XLA and gets it back."""

import random
import re

import jax
import jax.numpy as jnp
import keras
import numpy as np
import pytest

from keras_transformer.config import ModelConfig, TrainingConfig
from keras_transformer.models import build_transformer
from keras_transformer.training.compiling import compile_model
from tests.toy_models import MODEL

# Of operations that go to the host, or wait for it.
HOST = ("callback", "infeed", "outfeed", "send", "recv", "host_compute")


def state_and_step(precision):
    """The variables of a compiled model, and its step as `fit` compiles it."""
    random.seed(1)
    keras.config.set_dtype_policy(precision)
    try:
        model = build_transformer(ModelConfig(**MODEL), 20, 20)
        compile_model(model, TrainingConfig(label_smoothing=0.1), 16)
    finally:
        keras.config.set_dtype_policy("float32")
    variables = (
        model.trainable_variables,
        model.non_trainable_variables,
        model.optimizer.variables,
        model.metrics_variables,
    )
    state = tuple([v.value for v in group] for group in variables)
    return state, jax.jit(model.train_step, donate_argnums=0)


def batch(rows=8, source=6, target=8):
    ids = np.random.default_rng(1).integers(4, 20, (rows, source + target))
    ids = ids.astype("int32")
    features = {"source_ids": ids[:, :source], "target_ids": ids[:, source:]}
    return features, ids[:, source:]


@pytest.fixture(scope="module", params=["float32", "mixed_bfloat16"])
def lowered(request):
    state, step = state_and_step(request.param)
    return request.param, state, step.lower(state, batch())


def test_nothing_leaves_the_device_inside_a_step(lowered):
    _, _, program = lowered
    for text in (program.as_text(), program.compile().as_text()):
        called = re.findall(r"custom_call[^@]*@([\w$.]+)", text)
        called += re.findall(r'custom_call_target="([^"]+)"', text)
        operations = re.findall(r"(?:stablehlo\.|= \S+ )([a-z_-]+)\(?", text)
        for name in (*called, *operations):
            assert not any(word in name for word in HOST), name


def products(text):
    """Types and shapes of the operands of each product."""
    pattern = r"dot_general .*?: \(tensor<([^>]+)>, tensor<([^>]+)>\)"
    for pair in re.findall(pattern, text):
        yield [operand.split("x") for operand in pair]


def test_products_are_in_the_precision_asked_for(lowered):
    precision, _, program = lowered
    expected = "bf16" if precision == "mixed_bfloat16" else "f32"
    # Products with a vector, such as of a normalisation's scale and the
    # kernel that it is multiplied into, aren't where the time goes.
    types = [
        {one[-1], other[-1]}
        for one, other in products(program.as_text())
        if "1" not in one[:-1] + other[:-1]
    ]
    assert len(types) > 30
    assert types == [{expected}] * len(types)


def test_the_state_is_updated_where_it_lies(lowered):
    _, state, program = lowered
    count = len(jax.tree.leaves(state))
    text = program.as_text()
    donated = text.count("tf.aliasing_output") + text.count("jax.buffer_donor")
    assert donated == count
    aliased = program.compile().as_text().partition("input_output_alias={")[2]
    aliased = aliased.partition("entry_computation_layout")[0]
    assert aliased.count("alias)") == count


def test_a_shape_is_compiled_once():
    state, step = state_and_step("float32")
    shapes = [batch(8, 6, 8), batch(6, 8, 8)]
    for features, labels in [*shapes, *shapes]:
        # As Keras hands a batch over.
        data = jax.tree.map(jnp.asarray, (features, labels))
        _, state = step(state, data)
    assert step._cache_size() == len(shapes)
