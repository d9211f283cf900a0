"""What a run takes from the machine that it starts on."""

import pytest

from keras_transformer.config import Config
from keras_transformer.training import defaults
from keras_transformer.training.run import Run


@pytest.mark.parametrize(
    "fast, precision", [(True, "mixed_bfloat16"), (False, "float32")]
)
def test_open_values_are_chosen(monkeypatch, fast, precision):
    monkeypatch.setattr(defaults, "multiplies_bfloat16", lambda: fast)
    monkeypatch.setattr(defaults, "has_gpu", lambda: False)
    monkeypatch.setattr(defaults, "usable_cores", lambda: 3)
    config = Config().updated({"training": {"precision": "auto"}})
    assert defaults.left_open(config) == ("threads", "precision")
    training = defaults.for_this_machine(config).training
    assert (training.threads, training.precision) == (3, precision)


def test_given_values_stay():
    given = {"threads": 2, "precision": "mixed_float16"}
    config = Config().updated({"training": given})
    assert defaults.left_open(config) == ()
    assert defaults.for_this_machine(config) == config


def test_a_run_keeps_what_was_chosen(config, prepared, tmp_path, monkeypatch):
    monkeypatch.setattr(defaults, "multiplies_bfloat16", lambda: True)
    config = config.updated({"training": {"precision": "auto"}})
    Run.create(tmp_path / "run", config, prepared)
    kept = Run.load(tmp_path / "run").config.training
    assert kept.precision == "mixed_bfloat16"
    assert kept.threads is not None
