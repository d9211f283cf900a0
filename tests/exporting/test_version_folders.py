import os

import pytest

from keras_transformer.errors import InputError
from keras_transformer.exporting.registry.version_folders import (
    choose_version,
    version_folders,
)


def test_versions_are_numbers_whatever_their_zeros(tmp_path):
    for name in ("10", "007", "9", ".tmp-11-1", "latest", "٣", "-1"):
        (tmp_path / name).mkdir()
    assert list(version_folders(tmp_path)) == [7, 9, 10]
    assert version_folders(tmp_path / "none") == {}


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_names_of_a_version_the_shorter_counts(
    tmp_path, order, monkeypatch
):
    names = ["1", "001", "01", "0", "00"]
    monkeypatch.setattr(os, "listdir", lambda _: names[::order])
    found = version_folders(tmp_path)
    assert found == {0: tmp_path / "0", 1: tmp_path / "1"}


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
