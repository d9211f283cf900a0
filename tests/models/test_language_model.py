"""The decoder without a source."""

import dataclasses

import keras
import numpy as np
import pytest

from keras_transformer.models import build_language_model
from tests.models.test_transformer import CONFIG, TARGET, VARIANTS

LANGUAGE_MODELS = {
    name: {k: v for k, v in VARIANTS[name].items() if k != "source_start"}
    for name in ("pre", "post", "biased")
}


def build(variant="pre", **changes):
    keras.utils.set_random_seed(1)
    changes = {**LANGUAGE_MODELS[variant], **changes}
    return build_language_model(dataclasses.replace(CONFIG, **changes), 12)


@pytest.mark.parametrize("variant", ["pre", "biased"])
def test_saved_and_loaded_gives_the_same_logits(variant, tmp_path):
    model = build(variant)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded(TARGET), model(TARGET), atol=1e-6)


@pytest.mark.parametrize("variant", ["pre", "post"])
def test_the_future_and_padding_change_nothing(variant):
    model = build(variant)
    expected = np.array(model(TARGET))
    changed = TARGET.copy()
    changed[:, 3] = [10, 11]
    np.testing.assert_allclose(
        np.array(model(changed))[:, :3], expected[:, :3], atol=1e-5
    )
    padded = np.array(model(np.pad(TARGET, [[0, 0], [0, 4]])))
    np.testing.assert_allclose(padded[0, :4], expected[0], atol=1e-5)
    np.testing.assert_allclose(padded[1, :2], expected[1, :2], atol=1e-5)


@pytest.mark.parametrize(
    ("tied", "matrices"), [("none", 2), ("target", 1), ("all", 1)]
)
def test_a_tied_embedding_is_the_output_too(tied, matrices):
    model = build(tied_embeddings=tied)
    sizes = [w.shape for w in model.weights if 12 in w.shape]
    assert sum(len(shape) == 2 for shape in sizes) == matrices
