"""The main notebook's own model, number by number (see tests/reference)."""

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import ModelConfig
from keras_transformer.constants import START_ID
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.models import build_transformer

ROLES = ("query", "key", "value", "output")


@pytest.fixture(scope="module")
def model(notebook):
    source, target, layers, d_model, d_ff, heads = map(int, notebook["meta"])
    config = ModelConfig(
        num_encoder_layers=layers,
        num_decoder_layers=layers,
        d_model=d_model,
        num_heads=heads,
        d_ff=d_ff,
        # The notebook's variance divides by D - 1, Keras' by D.
        layer_norm_epsilon=1e-6 * (d_model - 1) / d_model,
    )
    model = build_transformer(config, source, target)
    for weight in model.trainable_weights:
        weight.assign(_notebook_value(notebook, weight.path, d_model))
    return model


def _notebook_value(notebook, path, d_model):
    """The notebook's weight for one of ours, by path."""
    layer, *rest = path.split("/")
    if layer in ("source_embedding", "target_embedding"):
        return notebook[f"w.{layer[0]}e.0.lut.weight"]
    if layer == "logits":
        return _dense(notebook, "w.gen", rest[-1])
    if layer.endswith("_norm"):
        stack = layer.removesuffix("_norm")
        return _norm(notebook, f"w.{stack}.norm", rest[-1], d_model)
    stack, _, number = layer.split("_")
    prefix = f"w.{stack}.ls.{number}"
    kind = rest[0]
    sublayers = ["self_attention", "feedforward"]
    if stack == "decoder":
        sublayers.insert(1, "cross_attention")
    if kind.endswith("_layer_norm"):
        place = sublayers.index(kind.removesuffix("_layer_norm"))
        return _norm(notebook, f"{prefix}.sub.{place}.norm", rest[-1], d_model)
    if kind == "feedforward":
        name = {"inner": "w1", "outer": "w2"}[rest[1]]
        return _dense(notebook, f"{prefix}.f.{name}", rest[-1])
    part = {"self_attention": "a", "cross_attention": "c"}[kind]
    place = ROLES.index(rest[1])
    return _dense(notebook, f"{prefix}.{part}.linears.{place}", rest[-1])


def _dense(notebook, prefix, name):
    if name == "kernel":
        return notebook[f"{prefix}.weight"].T
    return notebook[f"{prefix}.bias"]


def _norm(notebook, prefix, name, d_model):
    if name == "gamma":
        return notebook[f"{prefix}.a"] * np.sqrt((d_model - 1) / d_model)
    return notebook[f"{prefix}.b"]


def test_logits_equal_the_notebook(model, notebook):
    """Those of the model, and fused ones."""
    source, ids = notebook["source_ids"], notebook["target_ids"][:, :-1]
    fused, _ = IncrementalTransformer(model).predict(source, ids)
    real = ids != 0
    for logits in (model({"source_ids": source, "target_ids": ids}), fused):
        np.testing.assert_allclose(
            np.array(logits)[real], notebook["logits"][real], atol=1e-4
        )


def test_greedy_steps_equal_the_notebook(model, notebook):
    expected = notebook["greedy_ids"]
    incremental = IncrementalTransformer(model)
    steps = expected.shape[1] - 1
    cache = incremental.start(notebook["source_ids"], 1, steps)
    ids = [np.full((len(expected), 1), START_ID, dtype="int32")]
    for index in range(steps):
        step = incremental.step(tf.constant(ids[-1]), cache, index)
        cache = step.cache
        ids.append(step.logits.numpy().argmax(-1).astype("int32"))
    np.testing.assert_array_equal(np.concatenate(ids, axis=1), expected)
