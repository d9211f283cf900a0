"""How many operations a step of training has."""

import numpy as np

from keras_transformer.config import ModelConfig
from keras_transformer.models import build_transformer
from scripts.benchmarks.training.measure import flops


def test_operations_are_counted():
    config = ModelConfig(
        num_encoder_layers=1,
        num_decoder_layers=2,
        d_model=4,
        num_heads=2,
        d_ff=8,
        max_length=8,
    )
    model = build_transformer(config, 9, 10)
    source, target = np.array([3]), np.array([2])
    # Products of the weights: each of so many rows by rows x columns.
    encoder = 3 * (4 * 4 * 4 + 2 * 4 * 8)
    memory = 2 * 3 * (2 * 4 * 4)
    decoder = 2 * 2 * (6 * 4 * 4 + 2 * 4 * 8) + 2 * 4 * 10
    # Scores and contexts: each query's with each key, twice the width.
    attention = 3 * 3 * 2 * 4 + 2 * (2 * 2 + 2 * 3) * 2 * 4
    products = encoder + memory + decoder + attention
    # Forward and twice as much backward; multiplication and addition.
    assert flops(model, source, target) == 3 * 2 * products
