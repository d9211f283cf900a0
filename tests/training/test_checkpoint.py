"""Checkpoints that aren't what was written."""

import numpy as np
import pytest

from keras_transformer.errors import InputError
from keras_transformer.training.checkpoint import load_checkpoint


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
        load_checkpoint(archive, model=None)


def test_every_cut_is_told(archive):
    content = archive.read_bytes()
    for size in range(0, len(content), 97):
        archive.write_bytes(content[:size])
        with pytest.raises(InputError, match="damaged checkpoint"):
            load_checkpoint(archive, model=None)


def test_a_missing_checkpoint_is_told(tmp_path):
    with pytest.raises(InputError, match="no checkpoint to resume from"):
        load_checkpoint(tmp_path / "checkpoint.npz", model=None)
