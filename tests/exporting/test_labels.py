import json
import os

import pytest

from keras_transformer.errors import InputError
from keras_transformer.exporting.registry import labels
from keras_transformer.exporting.registry.labels import (
    read_labels,
    roll_back,
    set_label,
)
from keras_transformer.system import files
from tests.toy_runs import write_versions


@pytest.fixture
def base(tmp_path):
    return write_versions(tmp_path, 1, 2, 3, 4)


def test_rolling_back_skips_what_is_gone_and_what_is_named(base):
    for version in (2, 3, 2, 4):
        set_label(base, "stable", version)
    (base / "3" / "saved_model.pb").unlink()
    (base / "3").rmdir()
    assert roll_back(base).versions == {"stable": 2}
    assert roll_back(base).versions == {"stable": 1}


def test_first_label_rolls_back_to_the_next_lower_version(base):
    """To 0 at last, which the server takes for a version, too."""
    write_versions(base, 0)
    set_label(base, "stable", 1)
    assert roll_back(base).versions == {"stable": 0}
    assert read_labels(base).versions == {"stable": 0}


def test_rolling_back_passes_over_what_is_no_version(base):
    set_label(base, "stable", 3)
    (base / "2" / "saved_model.pb").unlink()
    assert roll_back(base).versions == {"stable": 1}


def test_folder_without_a_model_is_no_version(base):
    (base / "5").mkdir()
    with pytest.raises(InputError, match="5: not a version, as it"):
        set_label(base, "stable", 5)


def test_failed_change_leaves_the_labels_as_they_were(base, monkeypatch):
    set_label(base, "stable", 1)
    before = sorted(os.listdir(base))

    def fail(*arguments):
        raise OSError("no")

    monkeypatch.setattr(files.os, "replace", fail)
    with pytest.raises(OSError, match=labels.FILE):
        set_label(base, "stable", 2)
    assert json.loads((base / labels.FILE).read_text())["versions"] == {
        "stable": 1
    }
    assert sorted(os.listdir(base)) == before
