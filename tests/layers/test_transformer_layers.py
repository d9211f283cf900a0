"""EncoderLayer and DecoderLayer, against torch and against themselves."""

import h5py
import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.layers import (
    DecoderLayer,
    EncoderLayer,
    MultiHeadAttention,
    decoder_mask,
)
from tests.layers.checks import check_gradients, check_layer

RNG = np.random.default_rng(1)
X = RNG.normal(size=(2, 4, 8)).astype("float32")
SOURCE = RNG.normal(size=(2, 5, 8)).astype("float32")


def sizes(**options):
    return {
        "d_model": 8,
        "num_heads": 2,
        "d_ff": 16,
        "dropout": 0.1,
        "attention_dropout": 0.1,
        "feedforward_dropout": 0.1,
        **options,
    }


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize(
    ("kind", "options", "inputs", "weights", "seeds"),
    [
        (EncoderLayer, {}, {"x": X}, 16, 3),
        (DecoderLayer, {}, {"x": X, "encoder_output": SOURCE}, 26, 4),
        (DecoderLayer, {"cross_attention": False}, {"x": X}, 16, 3),
    ],
    ids=["encoder", "decoder", "decoder alone"],
)
def test_keeps_the_layer_contract(kind, options, inputs, weights, seeds, norm):
    def make(dtype="float32"):
        return kind(**sizes(norm=norm, **options), dtype=dtype)

    check_layer(make, inputs, weights, seeds)
    check_gradients(make(), inputs)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_files_of_weights_know_norms_by_their_own_names(norm, tmp_path):
    inputs = keras.Input((None, 8))
    layer = EncoderLayer(d_model=8, num_heads=2, d_ff=16, norm=norm)
    path = tmp_path / "model.weights.h5"
    keras.Model(inputs, layer(inputs)).save_weights(path)
    groups = set()
    with h5py.File(path) as file:
        file.visit(groups.add)
    prefix = "layers/encoder_layer"
    stored = {
        name.removeprefix(prefix).split("/vars")[0]
        for name in groups
        if name.startswith(prefix) and name.endswith("/vars/0")
    }
    assert stored == {
        "/_feedforward/_inner",
        "/_feedforward/_outer",
        "/_feedforward_layer_norm",
        "/_self_attention/_key",
        "/_self_attention/_output",
        "/_self_attention/_query",
        "/_self_attention/_value",
        "/_self_attention_layer_norm",
    }


@pytest.mark.parametrize("cross_attention", [False, True])
def test_a_source_too_many_or_too_few_is_refused(cross_attention):
    layer = DecoderLayer(**sizes(cross_attention=cross_attention))
    right, wrong = ((SOURCE,), ()) if cross_attention else ((), (SOURCE,))
    match = f"Received: cross_attention={cross_attention}, "
    for _ in range(2):  # when it is built, and afterwards
        with pytest.raises(ValueError, match=match):
            layer(X, *wrong)
        layer(X, *right)


# Methods beside `call`, the layer's arguments, and the inputs of both.
METHODS = {
    "encoder": (EncoderLayer, (8, 2, 16), "attention_weights", (X,)),
    "decoder": (DecoderLayer, (8, 2, 16), "attention_weights", (X, SOURCE)),
    "attention": (MultiHeadAttention, (2, 8), "attention_weights", (X, SOURCE)),
    "project": (MultiHeadAttention, (2, 8), "project", (SOURCE,)),
    "attend": (
        MultiHeadAttention,
        (2, 8),
        "attend",
        (X, *np.ones((2, 2, 2, 5, 4), "float32")),
    ),
}
METHOD = pytest.mark.parametrize("name", METHODS)


@METHOD
def test_methods_before_the_first_call_build_the_layer(name):
    kind, arguments, method, given = METHODS[name]
    layer, called = kind(*arguments), kind(*arguments)
    inputs = (X,) if kind is EncoderLayer else (X, SOURCE)
    called(*inputs)
    getattr(layer, method)(*given)
    assert [w.path.split("/", 1)[1] for w in layer.weights] == [
        w.path.split("/", 1)[1] for w in called.weights
    ]
    layer.set_weights(called.get_weights())
    np.testing.assert_allclose(layer(*inputs), called(*inputs), atol=1e-6)


@METHOD
@pytest.mark.parametrize(
    "dtype", ["mixed_float16", "mixed_bfloat16", "bfloat16", "float64"]
)
def test_methods_take_tensors_whatever_the_policy(name, dtype):
    kind, arguments, method, given = METHODS[name]
    layer = kind(*arguments, dtype=dtype)
    found = getattr(layer, method)(*map(keras.ops.convert_to_tensor, given))
    for tensor in keras.tree.flatten(found):
        assert tensor.dtype == layer.compute_dtype


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("kind", [EncoderLayer, MultiHeadAttention])
def test_float64_is_computed_in_float64(kind, training):
    sizes = (2, 8) if kind is MultiHeadAttention else (8, 2, 16)
    layer = kind(*sizes, dtype="float64")
    count = 2 if kind is MultiHeadAttention else 1
    mask = np.array([[[1, 1, 1, 0]], [[1, 1, 1, 1]]], bool)

    def loss(x):
        y = layer(*[x] * count, attention_mask=mask, training=training)
        return tf.reduce_sum(tf.square(y))

    x, step = tf.constant(X, tf.float64), 1e-5 * RNG.normal(size=X.shape)
    with tf.GradientTape() as tape:
        tape.watch(x)
        total = loss(x)
    change = tf.reduce_sum(tape.gradient(total, x) * step)
    expected = (loss(x + step) - loss(x - step)) / 2
    np.testing.assert_allclose(change, expected, rtol=1e-6)


def _assign(layer, prefix, reference):
    """Puts a `torch.nn.Transformer` layer's weights into ours."""
    prefix = f"w.{prefix}."
    torch = {
        name.removeprefix(prefix): reference[name]
        for name in reference.files
        if name.startswith(prefix)
    }
    decoder = isinstance(layer, DecoderLayer)
    norms = ["norm1", "norm2", "norm3"] if decoder else ["norm1", "norm2"]
    attentions = {"self_attention": "self_attn"}
    names = ["self_attention", "feedforward"]
    if decoder:
        attentions["cross_attention"] = "multihead_attn"
        names.insert(1, "cross_attention")
    values = {}
    for ours, theirs in attentions.items():
        kernels = np.split(torch[f"{theirs}.in_proj_weight"], 3)
        biases = np.split(torch[f"{theirs}.in_proj_bias"], 3)
        for role, kernel, bias in zip(
            ("query", "key", "value"), kernels, biases, strict=True
        ):
            values[f"{ours}/{role}/kernel"] = kernel.T
            values[f"{ours}/{role}/bias"] = bias
        values[f"{ours}/output/kernel"] = torch[f"{theirs}.out_proj.weight"].T
        values[f"{ours}/output/bias"] = torch[f"{theirs}.out_proj.bias"]
    for ours, theirs in (("inner", "linear1"), ("outer", "linear2")):
        values[f"feedforward/{ours}/kernel"] = torch[f"{theirs}.weight"].T
        values[f"feedforward/{ours}/bias"] = torch[f"{theirs}.bias"]
    for name, theirs in zip(names, norms, strict=True):
        values[f"{name}_layer_norm/gamma"] = torch[f"{theirs}.weight"]
        values[f"{name}_layer_norm/beta"] = torch[f"{theirs}.bias"]
    for weight in layer.trainable_weights:
        weight.assign(values.pop(weight.path.split("/", 1)[1]))
    assert not values


def _layer_norm(x, reference, stack):
    gamma = reference[f"w.{stack}.norm.weight"]
    beta = reference[f"w.{stack}.norm.bias"]
    mean = x.mean(-1, keepdims=True)
    deviation = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return (x - mean) / deviation * gamma + beta


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_stacks_equal_torch(reference, norm):
    values = reference(f"nn_transformer_{norm}_norm")
    d_model, heads, layers, d_ff, norm_first = values["meta"]
    assert bool(norm_first) == (norm == "pre")
    options = {
        "d_model": int(d_model),
        "num_heads": int(heads),
        "d_ff": int(d_ff),
        "activation": str(values["activation"]),
        "norm": norm,
        "layer_norm_epsilon": 1e-5,
    }
    source_mask = ~values["source_padding"][:, None]
    target_mask = ~values["target_padding"][:, None] & np.array(
        decoder_mask(np.full(values["target_padding"].shape, 4))
    )
    x = values["source"]
    for i in range(layers):
        layer = EncoderLayer(**options)
        layer.build(x.shape)
        _assign(layer, f"encoder.layers.{i}", values)
        x = np.array(layer(x, attention_mask=source_mask))
    memory = _layer_norm(x, values, "encoder")
    real = ~values["source_padding"]
    np.testing.assert_allclose(memory[real], values["memory"][real], atol=1e-4)
    x = values["target"]
    for i in range(layers):
        layer = DecoderLayer(**options)
        layer.build(x.shape, memory.shape)
        _assign(layer, f"decoder.layers.{i}", values)
        x = np.array(
            layer(
                x,
                memory,
                self_attention_mask=target_mask,
                cross_attention_mask=source_mask,
            )
        )
    output = _layer_norm(x, values, "decoder")
    real = ~values["target_padding"]
    np.testing.assert_allclose(output[real], values["output"][real], atol=1e-4)
