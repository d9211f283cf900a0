import os

import pytest

from keras_transformer.errors import InputError
from keras_transformer.exporting.registry.version_folders import (
    choose_version,
    version_folders,
)


def test_versions_are_numbers_whatever_their_zeros(tmp_path):
    names = ("10", "007", "9", ".tmp-11-1", "latest", "٣", "-1")
    # The server reads them as signed integers of 64 bits.
    for name in (*names, str(2**63 - 1), str(2**63)):
        (tmp_path / name).mkdir()
    assert list(version_folders(tmp_path)) == [7, 9, 10, 2**63 - 1]
    assert version_folders(tmp_path / "none") == {}


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_names_of_a_version_the_shorter_counts(
    tmp_path, order, monkeypatch
):
    names = ["1", "001", "01", "0", "00"]
    monkeypatch.setattr(os, "listdir", lambda _: names[::order])
    found = version_folders(tmp_path)
    assert found == {0: tmp_path / "0", 1: tmp_path / "1"}


def test_first_version_is_1_and_the_next_one_above_the_highest(tmp_path):
    assert choose_version(tmp_path / "new", None) == 1
    (tmp_path / "0041").mkdir()
    (tmp_path / "3").mkdir()
    assert choose_version(tmp_path, None) == 42
    assert choose_version(tmp_path, 5) == 5
    with pytest.raises(InputError, match="0041 exists.*the next is 42"):
        choose_version(tmp_path, 41)


@pytest.mark.parametrize("version", [0, -3, 2**63])
def test_version_the_server_cannot_read_is_refused(tmp_path, version):
    with pytest.raises(InputError, match=f"from 1 on. Received: {version}"):
        choose_version(tmp_path, version)


@pytest.mark.parametrize(
    ("name", "says"),
    [("base", "base is a file"), ("saved_model.pb", "is a version itself")],
)
def test_base_that_holds_no_versions_is_refused(tmp_path, name, says):
    (tmp_path / name).write_text("")
    base = tmp_path / name if name == "base" else tmp_path
    with pytest.raises(InputError, match=says):
        choose_version(base, None)
