import errno
import os

import pytest
import tensorflow as tf

from keras_transformer.data.folder import check_free, new_folder
from keras_transformer.errors import InputError


def test_folder_appears_when_the_block_ends(tmp_path):
    out = tmp_path / "deep" / "out"
    with new_folder(out) as folder:
        (folder / "file").write_text("x")
        assert not out.exists()
    assert (out / "file").read_text() == "x"
    assert os.listdir(out.parent) == ["out"]


def test_empty_folder_is_filled(tmp_path):
    with new_folder(tmp_path / "out") as folder:
        (folder / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    with new_folder(tmp_path / "empty") as folder:
        (folder / "file").write_text("y")
    assert (tmp_path / "empty" / "file").read_text() == "y"


def test_folder_that_holds_something_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="exists and isn't empty"):
        check_free(tmp_path)
    with pytest.raises(InputError, match="Not a directory. Accepted: a new"):
        check_free(tmp_path / "file")


def full_disk():
    raise OSError(errno.ENOSPC, "No space left on device")


def full_disk_of_tensorflow():
    raise tf.errors.ResourceExhaustedError(None, None, "No space left")


@pytest.mark.parametrize("fail", [full_disk, full_disk_of_tensorflow])
def test_full_disk_leaves_nothing(tmp_path, fail):
    with pytest.raises(InputError, match="out: the disk is full"):
        with new_folder(tmp_path / "out") as folder:
            (folder / "file").write_text("x")
            fail()
    assert os.listdir(tmp_path) == []


def test_other_failures_to_write_are_told(tmp_path):
    with pytest.raises(InputError, match="can't be written .Permission denied"):
        with new_folder(tmp_path / "out"):
            raise PermissionError(errno.EACCES, "Permission denied")


def test_interruption_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        with new_folder(tmp_path / "out") as folder:
            (folder / "file").write_text("x")
            raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []
