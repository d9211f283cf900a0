"""What the terminal or the log shows of a training."""

import os
from types import SimpleNamespace

import pytest

from keras_transformer.cli.main import main
from keras_transformer.cli.train import TrainingProgress
from keras_transformer.config import TrainingConfig
from keras_transformer.training.compiling import schedule
from tests.cli.conftest import TRAIN_OPTIONS

MODEL = SimpleNamespace(count_params=lambda: 1000)


def plan(epoch):
    """Batches of which training has two of an epoch, 0 the first, behind it."""
    return SimpleNamespace(
        batches_per_epoch=10,
        padding_share=lambda: 0.05,
        epoch=epoch,
        first_batch=2 if epoch else 0,
    )


@pytest.mark.parametrize(
    ("warmup_steps", "accumulate_steps", "warned"),
    [(20, 1, False), (21, 1, True), (11, 2, True)],
)
def test_a_training_within_its_warm_up_is_told(
    capsys, warmup_steps, accumulate_steps, warned
):
    training = TrainingConfig(
        epochs=2, warmup_steps=warmup_steps, accumulate_steps=accumulate_steps
    )
    TrainingProgress(training).start(MODEL, plan(epoch=1))
    err = capsys.readouterr().err
    assert "1,000 parameters, 10 steps an epoch" in err
    assert "going on at epoch 2, step 3" in err
    assert ("end within the warm-up" in err) == warned
    # It keeps its settings.
    assert "training.warmup_steps" not in err
    TrainingProgress(training).start(MODEL, plan(epoch=0))
    err = capsys.readouterr().err
    assert ("--set training.warmup_steps=" in err) == warned


def test_a_training_that_has_all_its_epochs_is_told(capsys):
    TrainingProgress(TrainingConfig(epochs=2)).start(MODEL, plan(epoch=2))
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("nothing is left to train of 2 epochs")


def test_a_warm_up_to_a_given_rate_is_a_quarter_at_most(capsys):
    training = TrainingConfig(epochs=2, warmup_steps=100, learning_rate=0.001)
    TrainingProgress(training).start(MODEL, plan(epoch=1))
    assert "the warm-up is 5 of 20 updates" in capsys.readouterr().err
    made = schedule(training, 64, 10)
    assert float(made(4)) == pytest.approx(0.001)
    assert schedule(training, 64).warmup_steps == 100


@pytest.mark.usefixtures("untrained")
def test_a_run_whose_name_is_no_utf_8(data, tmp_path, capsys):
    out = tmp_path / os.fsdecode(b"caf\xe9")
    words = ["train", "--data", str(data), "--out", str(out), *TRAIN_OPTIONS]
    assert main(words) == 0
    assert "caf\\udce9: \n" in capsys.readouterr().out
