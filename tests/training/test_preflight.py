"""What is settled before a run starts."""

import copy

import pytest

from keras_transformer.config import Config
from keras_transformer.errors import InputError
from keras_transformer.system import machine
from keras_transformer.training import preflight
from keras_transformer.training.run import Run


@pytest.mark.parametrize(
    ("section", "values", "message"),
    [
        ("model", {"max_length": 5}, "takes 6 positions.*max_length"),
        ("training", {"source_embeddings": "gone.txt"}, "gone.txt: No such"),
        (
            "training",
            {"freeze": ["encoder_layer_0", "encoder_layer_1"]},
            "no weight matches 'encoder_layer_1'.*instance, source_embedding/",
        ),
        ("training", {"freeze": ["*"]}, "leaves no weight to train.*: \\*"),
        (
            "training",
            {"subword_sampling": 0.1},
            "needs a sentencepiece tokenizer.*word source and word target",
        ),
    ],
)
def test_what_does_not_fit_is_told_before_anything_is_written(
    prepared, config, tmp_path, section, values, message
):
    config = config.updated({section: values})
    with pytest.raises(InputError, match=message):
        Run.create(tmp_path / "run", config, prepared)
    assert list(tmp_path.iterdir()) == []


def test_vectors_of_another_width_are_told_before_anything_is_written(
    prepared, config, tmp_path
):
    width = config.model.d_model
    vectors = tmp_path / "vectors.txt"
    vectors.write_text(f"aaa{' 0.5' * (width + 1)}\n")
    values = {"training": {"source_embeddings": str(vectors)}}
    with pytest.raises(InputError, match="vectors.txt, line 1: "):
        Run.create(tmp_path / "run", config.updated(values), prepared)
    assert list(tmp_path.iterdir()) == [vectors]
    vectors.write_text(f"aaa{' 0.5' * width}\n")
    Run.create(tmp_path / "run", config.updated(values), prepared)


@pytest.mark.parametrize(
    ("fast", "precision"), [(True, "mixed_bfloat16"), (False, "float32")]
)
def test_open_values_are_chosen(monkeypatch, fast, precision):
    monkeypatch.setattr(machine, "multiplies_bfloat16", lambda: fast)
    monkeypatch.setattr(machine, "has_gpu", lambda: False)
    monkeypatch.setattr(machine, "usable_cores", lambda: 64)
    assert preflight.for_this_machine(Config()).training.threads == 8
    monkeypatch.setattr(machine, "usable_cores", lambda: 3)
    config = Config().updated({"training": {"precision": "auto"}})
    opened = "threads", "precision", "length_buckets"
    assert preflight.left_open(config) == opened
    training = preflight.for_this_machine(config).training
    assert (training.threads, training.precision) == (3, precision)
    assert training.length_buckets == "exact"


def test_jax_has_few_shapes_and_shares_operations_out(monkeypatch):
    monkeypatch.setattr(preflight.hosts, "on_jax", lambda: True)
    fast = preflight.jax_runtime
    monkeypatch.setattr(fast, "multiplies_bfloat16", lambda: True)
    config = Config().updated({"training": {"precision": "auto"}})
    training = preflight.for_this_machine(config).training
    assert (training.threads, training.precision) == (1, "mixed_bfloat16")
    assert training.length_buckets == "few"


def test_given_values_stay():
    given = {"threads": 2, "precision": "mixed_float16"}
    given["length_buckets"] = "few"
    config = Config().updated({"training": given})
    assert preflight.left_open(config) == ()
    assert preflight.for_this_machine(config) == config


def test_a_run_keeps_what_was_chosen(new_run, monkeypatch):
    monkeypatch.setattr(machine, "multiplies_bfloat16", lambda: True)
    run = new_run(training={"precision": "auto"})
    kept = Run.load(run.folder).config.training
    assert kept.precision == "mixed_bfloat16"
    assert kept.threads is not None
    assert kept.length_buckets == "exact"


def test_stopping_early_without_a_dev_set_warns(prepared, config, tmp_path):
    config = config.updated({"training": {"early_stopping": 2}})
    without = copy.copy(prepared)
    without.counts = {"train": 9}
    with pytest.warns(UserWarning, match="no effect without a dev set: .*data"):
        preflight.check_fits(config, without)
