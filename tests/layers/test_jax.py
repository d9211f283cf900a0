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
from keras_transformer.training.schedule import WarmupSchedule

assert keras.backend.backend() == "jax"
keras.utils.set_random_seed(1)
model = build_transformer(
    ModelConfig(
        num_encoder_layers=2, num_decoder_layers=2, d_model=16, num_heads=2,
        d_ff=32, max_length=16,
    ),
    12,
    12,
)
rng = np.random.default_rng(1)
source = rng.integers(4, 12, (32, 5)).astype("int32")
target = np.concatenate([np.full((32, 1), 2), source[:, ::-1]], 1)
features = {"source_ids": source, "target_ids": target[:, :-1]}
labels = target[:, 1:].astype("int32")
model.compile(
    keras.optimizers.Adam(WarmupSchedule(16, 20)),
    SmoothedCrossEntropy(0.1),
    metrics=[CrossEntropy(), TokenAccuracy()],
)
losses = model.fit(
    features, labels, epochs=12, batch_size=8, verbose=0
).history["cross_entropy"]
assert losses[-1] < losses[0] - 0.2, losses
print("agreed")
"""


@pytest.mark.slow
def test_trains_under_jax_without_tensorflow():
    done = run_on_jax("-c", SCRIPT)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "agreed\n"
