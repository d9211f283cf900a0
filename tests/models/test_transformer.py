import dataclasses
import functools

import keras
import numpy as np
import pytest

from keras_transformer.config import ModelConfig
from keras_transformer.errors import InputError
from keras_transformer.models import build_transformer
from tests.layers.test_frozen import REVIVALS

CONFIG = ModelConfig(
    num_encoder_layers=1,
    num_decoder_layers=2,
    d_model=8,
    num_heads=2,
    d_ff=16,
    max_length=16,
)
VARIANTS = {
    "pre": {},
    "post": {"norm": "post"},
    "tied": {"tied_embeddings": "target", "activation": "gelu"},
    "shared": {"tied_embeddings": "all", "positions": "learned"},
    "biased": {
        "tied_embeddings": "target",
        "output_bias": True,
        "positions": "tensor2tensor",
        "source_start": False,
    },
}
SOURCE = np.array([[2, 5, 7, 9, 3], [2, 8, 3, 0, 0]], dtype="int32")
TARGET = np.array([[2, 4, 6, 8], [2, 9, 0, 0]], dtype="int32")


def build(variant="pre", **changes):
    keras.utils.set_random_seed(1)
    config = dataclasses.replace(CONFIG, **{**VARIANTS[variant], **changes})
    return build_transformer(config, 12, 12)


# For tests that only read a model.
built = functools.cache(build)


def logits(model, source=SOURCE, target=TARGET):
    return np.array(model({"source_ids": source, "target_ids": target}))


@pytest.mark.parametrize("variant", VARIANTS)
def test_saved_and_loaded_gives_the_same_logits(variant, tmp_path):
    model = built(variant)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(logits(loaded), logits(model), atol=1e-6)


@pytest.mark.parametrize("revive", REVIVALS.values(), ids=REVIVALS)
def test_a_copy_keeps_what_the_model_knows(revive, tmp_path):
    config = dataclasses.replace(
        CONFIG, source_start=False, source_end=False, dropout=0.3
    )
    options = {"micro_batches": 2, "alignment_head": [0, 1]}
    model = build_transformer(config, 12, 12, **options)
    copy = revive(model, tmp_path)
    assert type(copy) is type(model)
    assert (copy.source_start, copy.source_end) == (False, False)
    assert copy.micro_batches == 2
    assert [*copy.alignment_head] == [0, 1]
    copy.set_weights(model.get_weights())
    np.testing.assert_array_equal(logits(copy), logits(model))
    for layer in model.layers:
        config = copy.get_layer(layer.name).get_config()
        assert config == layer.get_config()


@pytest.mark.parametrize(
    ("norm", "final_norm", "expected"),
    [
        ("pre", None, True),
        ("pre", True, True),
        ("pre", False, False),
        ("post", None, False),
        ("post", True, True),
        ("post", False, False),
    ],
)
def test_final_norms_are_there_when_asked_for(norm, final_norm, expected):
    config = dataclasses.replace(CONFIG, norm=norm)
    model = build_transformer(config, 12, 12, final_norm)
    names = {layer.name for layer in model.layers}
    assert ("encoder_norm" in names) == expected
    assert ("decoder_norm" in names) == expected


def test_without_final_norm_the_stream_goes_to_the_logits_as_it_is():
    model = build_transformer(CONFIG, 12, 12, final_norm=False)
    last = model.get_layer("decoder_layer_1").output
    stream, scores = keras.Model(model.inputs, [last, model.output])(
        {"source_ids": SOURCE, "target_ids": TARGET}
    )
    kernel, bias = model.get_layer("logits").get_weights()
    np.testing.assert_allclose(
        scores, np.array(stream) @ kernel + bias, atol=1e-5
    )


@pytest.mark.parametrize(
    ("variant", "embeddings", "projections"),
    [("pre", 2, 1), ("tied", 2, 0), ("shared", 1, 0)],
)
def test_tying_shares_matrices(variant, embeddings, projections):
    paths = [w.path for w in built(variant).weights]
    assert sum(p.endswith("tokens/embeddings") for p in paths) == embeddings
    assert sum(p == "logits/kernel" for p in paths) == projections


def test_a_hidden_start_changes_nothing():
    model = built("biased")
    changed = SOURCE.copy()
    changed[:, 0] = 0
    np.testing.assert_allclose(
        logits(model, source=changed), logits(model), atol=1e-6
    )
    assert (SOURCE[:, 0] == 2).all()


def test_the_first_token_after_a_hidden_start_has_the_first_position():
    seen, hidden = built(), build(source_start=False)
    hidden.set_weights(seen.get_weights())
    np.testing.assert_allclose(
        logits(hidden), logits(seen, source=SOURCE[:, 1:]), atol=1e-5
    )


def test_a_hidden_end_changes_nothing():
    model = build(source_end=False)
    changed = np.where(SOURCE == 3, 0, SOURCE)
    np.testing.assert_allclose(
        logits(model, source=changed), logits(model), atol=1e-6
    )


def test_a_source_without_text_does_not_depend_on_its_padding():
    model = build("biased", source_end=False)
    alone = logits(model, source=np.array([[2, 3]] * 2))
    padded = logits(model, source=np.array([[2, 3, 0, 0, 0]] * 2))
    np.testing.assert_allclose(alone, padded, atol=1e-6)


def test_a_tied_output_layer_may_have_a_bias():
    plain, biased = build("tied"), build("tied", output_bias=True)
    bias = np.linspace(-1, 1, 12, dtype="float32")
    (weight,) = (w for w in biased.weights if "output_bias" in w.path)
    weight.assign(bias)
    for ours, theirs in zip(
        [w for w in biased.weights if w is not weight],
        plain.weights,
        strict=True,
    ):
        ours.assign(theirs)
    inputs = {"source_ids": SOURCE, "target_ids": TARGET}
    for training in (False, True):
        np.testing.assert_allclose(
            biased(inputs, training=training),
            np.array(plain(inputs, training=training)) + bias,
            atol=1e-5,
        )


def test_an_empty_source_gives_finite_logits():
    source = np.zeros((2, 3), dtype="int32")
    assert np.isfinite(logits(built(), source=source)).all()


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_logits_are_float32_under_mixed_policies(policy):
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        model = build()
    finally:
        keras.config.set_dtype_policy(before)
    result = model({"source_ids": SOURCE, "target_ids": TARGET})
    assert keras.backend.standardize_dtype(result.dtype) == "float32"
    assert np.isfinite(np.array(result)).all()
    np.testing.assert_allclose(result, logits(built()), atol=0.1)


def test_one_shared_embedding_needs_one_vocabulary():
    config = dataclasses.replace(CONFIG, tied_embeddings="all")
    with pytest.raises(InputError, match="12 source and 13 target"):
        build_transformer(config, 12, 13)
