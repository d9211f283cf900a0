"""Checkpoints that aren't what was written."""

import contextlib
import json
import types
import zipfile

import keras
import numpy as np
import pytest

from keras_transformer.errors import InputError
from keras_transformer.training import checkpoint as checkpoints
from keras_transformer.training.checkpoint import (
    Checkpoint,
    Interrupted,
    load_checkpoint,
    save_checkpoint,
)

RUN = "0a1b"


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "checkpoint.npz"
    np.savez(path, note=np.zeros(9, np.uint8), weight=np.zeros(500))
    return path


def directory(content):
    """Where the zip file's list of members begins."""
    return content.index(b"PK\x01\x02")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (6, 109),  # "zip file version 10.9"
        (8, 1),  # "encrypted, password required"
        (8, 64),  # "strong encryption"
        (10, 8),  # deflated
        (10, 99),  # "that compression method is not supported"
    ],
)
def test_a_damaged_list_of_members_is_told(archive, place, value):
    content = bytearray(archive.read_bytes())
    content[directory(content) + place] = value
    archive.write_bytes(content)
    with pytest.raises(InputError, match="checkpoint.npz: damaged checkpoint"):
        load_checkpoint(archive, None, RUN)


def test_every_cut_is_told(archive):
    content = archive.read_bytes()
    for size in range(0, len(content), 97):
        archive.write_bytes(content[:size])
        with pytest.raises(InputError, match="damaged checkpoint"):
            load_checkpoint(archive, None, RUN)


def test_a_missing_checkpoint_is_told(tmp_path):
    with pytest.raises(InputError, match="no checkpoint to resume from"):
        load_checkpoint(tmp_path / "checkpoint.npz", None, RUN)


KEPT = {"best": 1.5, "best_epoch": 0, "scored": None}
NOTE = {"run": RUN, "epoch": 1, "batch": 2, "keep_best": KEPT, "seconds": 3.5}


@pytest.fixture(scope="module")
def model():
    model = keras.Sequential([keras.Input([2]), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    model.optimizer.build(model.trainable_variables)
    return model


@pytest.fixture
def saved(tmp_path, model):
    path = tmp_path / "checkpoint.npz"
    save_checkpoint(path, model, NOTE)
    return path


def rewrite(path, **changes):
    """Puts other arrays in a checkpoint's place."""
    with np.load(path) as archive:
        arrays = {**archive, **changes}
    np.savez(path, **arrays)


def test_a_note_is_read_as_it_was_written(saved, model):
    assert load_checkpoint(saved, model, RUN) == {"format": 1, **NOTE}


@pytest.mark.parametrize(
    "changes",
    [
        {"epoch": 1 << 63},
        {"epoch": 1 << 40},
        {"epoch": True},
        {"batch": 10**300},
        {"seconds": "3"},
        {"seconds": 10**400},
        {"seconds": float("nan")},
        {"keep_best": None},
        {"keep_best": {}},
        {"keep_best": {**KEPT, "best": "1.5"}},
        {"keep_best": {**KEPT, "best_epoch": 0.5}},
        {"keep_best": {**KEPT, "scored": [1]}},
    ],
    ids=str,
)
def test_a_note_of_what_was_never_written_is_refused(saved, model, changes):
    text = json.dumps({"format": 1, **NOTE, **changes})
    rewrite(saved, note=np.frombuffer(text.encode(), np.uint8))
    with pytest.raises(InputError, match="damaged checkpoint"):
        load_checkpoint(saved, model, RUN)


@pytest.mark.parametrize("dtype", ["U5", "S5", "c8", "i4", "?", "M8[s]", "V4"])
def test_numbers_of_another_kind_are_refused(saved, model, dtype):
    rewrite(saved, **{"model/0000": np.zeros((2, 1), dtype)})
    with pytest.raises(InputError, match="damaged checkpoint"):
        load_checkpoint(saved, model, RUN)


def test_integers_may_be_of_another_size(saved, model):
    """As those of TensorFlow and of JAX are."""
    rewrite(saved, **{"optimizer/0000": np.array(7, np.int32)})
    load_checkpoint(saved, model, RUN)
    assert int(model.optimizer.iterations) == 7


def test_no_memory_is_taken_for_a_shape_that_is_made_up(saved, model):
    with zipfile.ZipFile(saved) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = "model/0000.npy"
    old, new = b"(2, 1), }", b"(2, 8000000000000), }"
    spaces = b" " * (len(new) - len(old))
    assert old + spaces in members[name]
    members[name] = members[name].replace(old + spaces, new)
    with zipfile.ZipFile(saved, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    with pytest.raises(InputError, match="damaged checkpoint"):
        load_checkpoint(saved, model, RUN)


@pytest.mark.parametrize("ends", [False, True])
def test_who_is_stopped_in_the_last_epoch_is_not_interrupted(
    saved, model, monkeypatch, ends
):
    """An epoch is also the last where patience is lost."""
    monkeypatch.setattr(checkpoints, "save_checkpoint", lambda *_: None)
    memory = types.SimpleNamespace(memory={})
    training = types.SimpleNamespace(checkpoint_every=9, epochs=5)
    checkpoint = Checkpoint(
        saved, RUN, None, memory, None, training, lambda: True
    )
    checkpoint.set_model(types.SimpleNamespace(stop_training=ends))

    def is_interrupted(epoch):
        with contextlib.suppress(Interrupted):
            checkpoint.on_epoch_end(epoch)
            return False
        return True

    assert is_interrupted(3) != ends
    assert not is_interrupted(4)


def test_a_batch_that_the_epoch_has_not_is_refused(saved, model):
    batches = types.SimpleNamespace(batches_per_epoch=2)
    training = types.SimpleNamespace(checkpoint_every=1, epochs=1)
    checkpoint = Checkpoint(saved, RUN, batches, None, None, training, bool)
    with pytest.raises(InputError, match="damaged checkpoint"):
        checkpoint.restore(model)
