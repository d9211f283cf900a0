import errno
import os
import re
import shutil

import h5py
import pytest

from keras_transformer.errors import InputError
from keras_transformer.models.transformer import build_transformer
from keras_transformer.system.checksums import checksum
from keras_transformer.training.run import Run
from keras_transformer.training.weights import (
    load_weights,
    require_size,
)


@pytest.fixture
def run(new_run):
    return new_run()


@pytest.fixture(scope="module")
def with_weights(new_run):
    """A run that has weights, and the model with them: only to be read."""
    run = new_run()
    model = run.build_model()
    run.save_weights(model, "best", 1, {})
    return run, model


@pytest.fixture
def saved(with_weights, tmp_path):
    """A copy of the run that has weights."""
    run, _ = with_weights
    return Run.load(shutil.copytree(run.folder, tmp_path / "saved"))


def test_a_loaded_run_is_the_created_one(run, prepared):
    loaded = Run.load(run.folder)
    assert loaded.config == run.config
    assert loaded.config.data == prepared.config
    assert loaded.manifest == run.manifest
    tokens = prepared.target_tokenizer.tokens()
    assert loaded.target_tokenizer.tokens() == tokens


def test_a_taken_folder_is_refused(run, config, prepared):
    with pytest.raises(InputError, match="exists and isn't empty"):
        Run.create(run.folder, config, prepared)


def test_notes_accept_the_weights_at_every_moment(run, monkeypatch):
    # Killed between the new notes and the new weights: the old still load.
    model = run.build_model()
    run.save_weights(model, "best", 1, {})
    path = run.folder / "weights" / "best.weights.h5"
    digest = checksum(path)
    model.layers[-2].set_weights([w * 0 for w in model.layers[-2].weights])

    def killed(*_):
        raise KeyboardInterrupt

    for _ in range(3):
        with monkeypatch.context() as patch:
            patch.setattr("os.replace", _only_notes(killed))
            with pytest.raises(KeyboardInterrupt):
                run.save_weights(model, "best", 2, {})
        assert checksum(path) == digest
        run.load_model("best")


def _only_notes(killed):
    replace = os.replace

    def replace_notes(source, target):
        if str(target).endswith(".json"):
            return replace(source, target)
        return killed()

    return replace_notes


def test_a_full_disk_is_told_before_weights_are_written(
    saved, with_weights, monkeypatch
):
    _, model = with_weights
    folder = saved.folder / "weights"
    needed = []

    def full(descriptor, offset, size):
        needed.append(size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full)
        with pytest.raises(OSError, match="best.weights.h5"):
            saved.save_weights(model, "best", 2, {})
    assert needed[0] >= (folder / "best.weights.h5").stat().st_size
    assert sorted(path.name for path in folder.iterdir()) == [
        "best.json",
        "best.weights.h5",
    ]
    saved.load_model("best")


def test_scores_that_are_no_numbers_are_left_out(saved, with_weights):
    _, model = with_weights
    scores = {"epoch": 1, "loss": float("nan"), "perplexity": float("inf")}
    saved.save_weights(model, "best", 1, scores)
    saved.record_scores("best", scores)
    saved.write_history([scores | {"val_loss": 2.5}])
    files = ["manifest.json", "history.jsonl", "weights/best.json"]
    for text in [(saved.folder / name).read_text() for name in files]:
        assert not re.search("NaN|Infinity", text)
    assert Run.load(saved.folder).manifest["scores"]["best"] == {"epoch": 1}
    assert saved.history() == [{"epoch": 1, "val_loss": 2.5}]


CLAIMS = [
    {"d_model": 65536, "d_ff": 262144},
    {"num_encoder_layers": 1000},
    {"positions": "learned", "max_length": 1 << 20},
]


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("there", [True, False])
def test_no_model_is_built_that_the_weights_can_not_fill(
    run, saved, config, monkeypatch, there, claim
):
    folder = (saved if there else run).folder
    changed = config.updated({"model": claim})
    (folder / "config.yaml").write_text(changed.to_yaml())
    monkeypatch.setattr(Run, "build_model", None)
    says = "damaged weights, or of another" if there else "no such weights"
    loaded = Run.load(folder)
    with pytest.raises(InputError, match=f"best.weights.h5: {says}"):
        loaded.load_model("best")
    checkpoint = folder / "checkpoint.npz"
    checkpoint.write_bytes(bytes(1000))
    with pytest.raises(InputError, match="checkpoint.npz: damaged weights"):
        loaded.require_size(checkpoint)


@pytest.mark.parametrize("key", ["max_length", "first_position"])
def test_no_positions_are_computed_beyond_all_weights(saved, config, key):
    """No file has them: a few bytes of settings would take gigabytes."""
    wide = {"d_model": 512, "num_heads": 8}
    model = config.updated({"model": {**wide, key: 1 << 20}}).model
    path = saved.weights_path("best")
    with pytest.raises(InputError, match="model.max_length whose table"):
        require_size(path, 1, model.computed_numbers)
    usual = config.updated({"model": {**wide, "max_length": 65536}}).model
    require_size(path, 1, usual.computed_numbers)
    with pytest.raises(InputError, match="first_position"):
        config.updated({"model": {"first_position": 10**9}})


@pytest.mark.parametrize("tied", ["none", "target", "all"])
def test_a_model_has_the_least_parameters_and_few_more(config, tied):
    shape = config.updated({"model": {"tied_embeddings": tied}}).model
    least = shape.least_parameters(9, 9)
    count = build_transformer(shape, 9, 9).count_params()
    assert 0.8 * count < least <= count


@pytest.mark.parametrize(
    "values",
    [
        {"d_ff": 64},
        {"num_encoder_layers": 3},
        {"num_decoder_layers": 2},
        {"norm": "post"},
        {"tied_embeddings": "target"},
    ],
    ids=lambda values: "{}={}".format(*next(iter(values.items()))),
)
def test_weights_of_another_shape_are_named(values, with_weights, new_run):
    run, _ = with_weights
    other = new_run(model=values)
    assert other.config != run.config
    model = other.build_model()
    with pytest.raises(InputError, match="best.weights.h5: damaged weights"):
        load_weights(run.weights_path("best"), model)


def test_tensors_that_claim_more_than_their_file_has_are_refused(tmp_path):
    path = tmp_path / "huge.weights.h5"
    with h5py.File(path, "w") as file:
        # Never written, so not in the file: 32 TB once it is read.
        file.create_dataset("vars/0", (1 << 43,), "float32")
    with pytest.raises(InputError, match="damaged weights .tensors of"):
        load_weights(path, None)
