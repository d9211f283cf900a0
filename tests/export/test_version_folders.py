import os

import pytest

from keras_transformer.errors import InputError
from keras_transformer.export.registry.version_folders import (
    choose_version,
    new_version,
    version_folders,
    writing,
)


def test_versions_are_numbers_whatever_their_zeros(tmp_path):
    for name in ("10", "007", "9", ".tmp-11-1", "latest", "٣", "-1"):
        (tmp_path / name).mkdir()
    assert list(version_folders(tmp_path)) == [7, 9, 10]
    assert version_folders(tmp_path / "none") == {}


def test_a_number_that_the_server_cannot_read_is_no_version(tmp_path):
    for name in (str(2**63 - 1), str(2**63)):
        (tmp_path / name).mkdir()
    assert list(version_folders(tmp_path)) == [2**63 - 1]


def test_first_version_is_1_and_the_next_one_above_the_highest(tmp_path):
    assert choose_version(tmp_path / "new", None) == 1
    (tmp_path / "0041").mkdir()
    (tmp_path / "3").mkdir()
    assert choose_version(tmp_path, None) == 42
    assert choose_version(tmp_path, 5) == 5


@pytest.mark.parametrize("version", [0, -3, 2**63])
def test_version_the_server_cannot_read_is_refused(tmp_path, version):
    with pytest.raises(InputError, match=f"from 1 on. Received: {version}"):
        choose_version(tmp_path, version)


def test_version_that_is_there_is_refused(tmp_path):
    (tmp_path / "007").mkdir()
    with pytest.raises(InputError, match="007 exists.*the next is 8"):
        choose_version(tmp_path, 7)


def test_base_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "base").write_text("")
    with pytest.raises(InputError, match="base is a file"):
        choose_version(tmp_path / "base", None)


def test_base_that_is_a_version_is_refused(tmp_path):
    (tmp_path / "saved_model.pb").write_text("")
    with pytest.raises(InputError, match="is a version itself"):
        choose_version(tmp_path, None)


def test_version_appears_when_the_block_ends(tmp_path):
    base = tmp_path / "models" / "x"
    with new_version(base, 3) as folder:
        (folder / "variables").mkdir()
        (folder / "variables" / "a").write_text("a")
        assert os.listdir(base) == [folder.name]
        assert not folder.name.isdigit()
    assert (base / "3" / "variables" / "a").read_text() == "a"
    assert os.listdir(base) == ["3"]


def test_version_that_appears_meanwhile_stays(tmp_path):
    with pytest.raises(InputError, match="appeared while"):
        with new_version(tmp_path, 3) as folder:
            (folder / "mine").write_text("")
            (tmp_path / "3").mkdir()
            (tmp_path / "3" / "theirs").write_text("")
    assert os.listdir(tmp_path) == ["3"]
    assert os.listdir(tmp_path / "3") == ["theirs"]


def test_failure_keeps_what_another_put_there(tmp_path):
    base = tmp_path / "a" / "b"
    with pytest.raises(KeyError):
        with new_version(base, 1):
            (base / "2").mkdir()
            raise KeyError
    assert os.listdir(base) == ["2"]


def test_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="1: can't be written"):
        with new_version(tmp_path / "file" / "base", 1):
            pass


def test_writing_passes_other_errors_on():
    with pytest.raises(ZeroDivisionError):
        with writing("x"):
            raise ZeroDivisionError
