import errno
import os

import pytest

from keras_transformer.errors import InputError
from keras_transformer.files import (
    read_json,
    read_yaml,
    remove_leftovers,
    replacing,
    write_json,
)


def test_a_failed_write_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_told_with_the_file(tmp_path):
    path = tmp_path / "a.txt"
    with pytest.raises(OSError) as error, replacing(path):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert error.value.filename == str(path)


def test_a_link_is_followed(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    with replacing(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink() and target.read_text() == "new"


def test_a_device_is_written_to_and_stays_one():
    with replacing(os.devnull) as temporary:
        temporary.write_text("away")
    assert not os.path.isfile(os.devnull)


def test_leftovers_of_killed_processes_are_removed(tmp_path):
    kept = tmp_path / "checkpoint.npz"
    kept.touch()
    (tmp_path / ".checkpoint.npz.123.tmp.npz").touch()
    remove_leftovers(tmp_path)
    assert list(tmp_path.iterdir()) == [kept]


def test_json_round_trip(tmp_path):
    path = tmp_path / "a.json"
    write_json(path, {"text": "中文"})
    assert read_json(path) == {"text": "中文"}
    assert "中文" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff"])
def test_damaged_json_is_named(tmp_path, content):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match="a.json: damaged"):
        read_json(path)


def test_damaged_yaml_is_named_with_its_line(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("model:\n  d_model: [1\n")
    with pytest.raises(InputError, match="a.yaml, line 3: not a YAML file"):
        read_yaml(path)


def test_a_key_that_stands_twice_is_named_with_its_line(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("model:\n  d_model: 8\nmodel:\n  d_ff: 16\n")
    with pytest.raises(InputError, match="a.yaml, line 3: model stands here"):
        read_yaml(path)
    path.write_text("model:\n  d_ff: 8\ndata:\n  d_ff: 16\n")
    assert read_yaml(path) == {"model": {"d_ff": 8}, "data": {"d_ff": 16}}


def test_yaml_too_deep_to_read_is_refused(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("[" * 2_000)
    with pytest.raises(InputError, match="a.yaml: not a YAML file"):
        read_yaml(path)


def test_missing_files_are_named(tmp_path):
    for read in (read_json, read_yaml):
        with pytest.raises(InputError, match="gone: No such file"):
            read(tmp_path / "gone")
