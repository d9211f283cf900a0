"""Training compiled by XLA."""

import json

import pytest

from keras_transformer.errors import InputError
from keras_transformer.training.fit import fit
from keras_transformer.training.run import Run

NO_DROPOUT = dict.fromkeys(
    ("dropout", "attention_dropout", "feedforward_dropout"), 0.0
)


def test_it_wants_few_shapes(config):
    with pytest.raises(InputError, match="length_multiple must be 8 or more"):
        config.updated({"training": {"jit_compile": True}})

    few = {"jit_compile": True, "length_buckets": "geometric"}
    assert config.updated({"training": few}).training.jit_compile


@pytest.mark.slow
@pytest.mark.parametrize("threads", [1, 2])
def test_losses_are_those_without_it(config, prepared, tmp_path, threads):
    config = config.updated(
        {
            "model": NO_DROPOUT,
            "training": {
                "epochs": 2,
                "length_multiple": 8,
                "threads": threads,
                "gradient_clip": 1.0,
            },
        }
    )
    losses = []
    for jit in (False, True):
        changed = config.updated({"training": {"jit_compile": jit}})
        run = Run.create(tmp_path / f"run-{jit}", changed, prepared)
        fit(run, prepared)
        lines = (run.folder / "history.jsonl").read_text().splitlines()
        losses.append(
            [
                json.loads(line)[k]
                for line in lines
                for k in ("loss", "val_loss")
            ]
        )
    assert losses[1] == pytest.approx(losses[0], abs=1e-3)
