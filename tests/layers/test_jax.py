"""Layers, model, loss and schedule on Keras' JAX backend."""

import pytest

from tests.on_jax import run_on_jax

SCRIPT = """
import sys

# An import of TensorFlow fails here, as where it isn't installed.
sys.modules["tensorflow"] = None
import keras
import numpy as np

from keras_transformer.config import ModelConfig
from keras_transformer.models import build_transformer
from keras_transformer.training.loss import SmoothedCrossEntropy
from keras_transformer.training.metrics import CrossEntropy, TokenAccuracy
from keras_transformer.training.optimizer import DenseAdam
from keras_transformer.training.schedule import WarmupSchedule

assert keras.backend.backend() == "jax"
config = ModelConfig(
    num_encoder_layers=1, num_decoder_layers=1, d_model=16, num_heads=2
)
model = build_transformer(config, 12, 12)
model.compile(
    DenseAdam(WarmupSchedule(16, 20)),
    SmoothedCrossEntropy(0.1),
    metrics=[CrossEntropy(), TokenAccuracy()],
)
ids = np.random.default_rng(1).integers(4, 12, (32, 6)).astype("int32")
features = {"source_ids": ids, "target_ids": ids[:, :-1]}
history = model.fit(features, ids[:, 1:], verbose=0).history
assert np.isfinite(history["cross_entropy"]).all()
print("agreed")
"""


@pytest.mark.slow
def test_trains_under_jax_without_tensorflow():
    done = run_on_jax("-c", SCRIPT)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "agreed\n"
