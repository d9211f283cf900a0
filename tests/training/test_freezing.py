"""Training some of the weights."""

import numpy as np
import pytest

from keras_transformer.config import ModelConfig
from keras_transformer.models import build_transformer
from keras_transformer.training.fit import fit
from keras_transformer.training.freezing import freeze
from keras_transformer.training.observer import Observer
from tests.toy_models import (
    MODEL,
    assert_same_weights,
    fit_in_two_parts,
    weights_of,
)


@pytest.mark.parametrize(
    ("patterns", "frozen"),
    [
        (["encoder_layer_*"], lambda path: path.startswith("encoder_layer_")),
        (["*_embedding/*"], lambda path: "_embedding/" in path),
        (["encoder_norm"], lambda path: path.startswith("encoder_norm/")),
        (
            ["decoder_layer_0/self_attention", "logits/bias"],
            lambda path: (
                path.startswith("decoder_layer_0/self_attention/")
                or path == "logits/bias"
            ),
        ),
        (["*/bias"], lambda path: path.endswith("/bias")),
    ],
)
def test_patterns_name_weights_and_layers(patterns, frozen):
    model = build_transformer(ModelConfig(**MODEL), 9, 9)
    freeze(model, patterns)
    trained = {weight.path for weight in model.trainable_weights}
    paths = [weight.path for weight in model.weights]
    assert [p for p in paths if p not in trained] == list(filter(frozen, paths))
    assert 0 < len(trained) < len(paths)


@pytest.mark.medium
def test_frozen_weights_stay_the_same_to_the_bit(prepared, new_run):
    freeze = ["*_embedding", "encoder_layer_0/feedforward"]
    training = {"freeze": freeze, "average_epochs": 3, "epochs": 2}
    run = new_run(training=training)

    class Copies(Observer):
        def start(self, model, batches):
            self.weights = weights_of(model)

    copies = Copies()
    model = fit(run, prepared, observer=copies)
    for saved in (model, run.load_model("best"), run.load_model("average")):
        changed = 0
        for weight, before in zip(saved.weights, copies.weights, strict=True):
            same = np.array_equal(weight.numpy(), before)
            if "_embedding/" in weight.path or weight.path.startswith(
                "encoder_layer_0/feedforward/"
            ):
                assert same, weight.path
            else:
                changed += not same
        assert changed > 10


@pytest.mark.slow
def test_a_resumed_run_ends_the_same(prepared, new_run):
    training = {"freeze": ["*_embedding", "encoder_*"]}
    whole = fit(new_run(training=training), prepared)
    parts = new_run(training=training)
    resumed = fit_in_two_parts(parts, prepared, stop_after=14)
    assert_same_weights((resumed, whole), 1e-4)
