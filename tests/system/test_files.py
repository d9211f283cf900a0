import errno
import os
import pathlib
import stat

import pytest
import tensorflow as tf

from keras_transformer.errors import InputError
from keras_transformer.system.checksums import check_file
from keras_transformer.system.files import (
    check_free,
    new_folder,
    read_json,
    read_yaml,
    remove_folder,
    replacing,
    require_space,
    write_json,
    writing,
)


def write_half(path, error):
    path.write_text("half")
    raise error


def test_a_failed_write_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as temporary:
        write_half(temporary, KeyboardInterrupt())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["a.txt", "no folder/a.txt"])
def test_an_error_of_writing_names_the_file(tmp_path, name):
    path = tmp_path / name
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    says = "No space left|No such file"
    with pytest.raises(OSError, match=says) as error:
        with replacing(path) as temporary:
            write_half(temporary, full)
    assert error.value.filename == str(path)


@pytest.mark.parametrize("name", ["a" * 251 + ".txt", "译" * 83 + ".zh"])
def test_a_name_may_be_as_long_as_the_system_takes(tmp_path, name):
    with replacing(tmp_path / name) as temporary:
        temporary.write_text("new")
        assert temporary.suffix == name[name.index(".") :]
    with new_folder(tmp_path / name[1:]):
        pass
    assert sorted(os.listdir(tmp_path)) == sorted([name, name[1:]])


def test_an_error_of_the_removal_is_not_the_one_reported(tmp_path):
    path = tmp_path / ("a" * 256)
    with pytest.raises(OSError, match="File name too long") as error:
        with replacing(path) as temporary:
            temporary.write_text("new")
    assert error.value.filename == str(path)


def test_a_link_is_followed(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)
    with replacing(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_link_in_a_folder_from_elsewhere_is_replaced(tmp_path):
    other, link = tmp_path / "other", tmp_path / "manifest.json"
    other.write_text("mine")
    link.symlink_to(other)
    write_json(link, {})
    assert other.read_text() == "mine"
    assert link.read_text() == "{}\n"
    link.unlink()
    link.symlink_to(tmp_path / "new")
    with replacing(link, follow=False) as temporary:
        temporary.write_text("here")
    assert not (tmp_path / "new").exists()
    assert link.read_text() == "here"


@pytest.mark.parametrize("name", ["a\0b", "a\ud800b"])
def test_a_name_that_no_file_can_have_is_told(tmp_path, name):
    says = r"a\\\w+b': not a valid file name"
    with pytest.raises(InputError, match=says) as error:
        read_json(tmp_path / name)
    assert str(error.value).isascii()
    described = {"bytes": 1, "sha256": "x"}
    with pytest.raises(InputError, match="not a valid file name; again"):
        check_file(tmp_path / name, described, "again", content=True)


def test_a_device_is_written_to_and_stays_one():
    with replacing(os.devnull) as temporary:
        temporary.write_text("away")
    assert not pathlib.Path(os.devnull).is_file()


def test_json_round_trip(tmp_path):
    # The name of a file that isn't UTF-8, too.
    values = {"text": "中文"}, {"name": os.fsdecode(b"caf\xe9.tsv")}
    path = tmp_path / "a.json"
    for value in values:
        write_json(path, value)
        assert read_json(path) == value
    write_json(path, values[0])
    assert "中文" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff"])
def test_damaged_json_is_named(tmp_path, content):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match="a.json: damaged"):
        read_json(path)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("model:\n  d_model: [1\n", "a.yaml, line 3: not a YAML file"),
        ("model:\n  a: 8\nmodel:\n  b: 6\n", "a.yaml, line 3: model is given"),
    ],
)
def test_damaged_yaml_is_named_with_its_line(tmp_path, text, says):
    path = tmp_path / "a.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=says):
        read_yaml(path)
    path.write_text("model:\n  d_ff: 8\ndata:\n  d_ff: 16\n")
    assert read_yaml(path) == {"model": {"d_ff": 8}, "data": {"d_ff": 16}}


def test_missing_files_are_named(tmp_path):
    for read in (read_json, read_yaml):
        with pytest.raises(InputError, match="gone: No such file"):
            read(tmp_path / "gone")


@pytest.mark.parametrize("name", ["deep/out", "empty"])
def test_folder_appears_when_the_block_ends(tmp_path, name):
    (tmp_path / "empty").mkdir()
    out = tmp_path / name
    with new_folder(out) as folder:
        (folder / "file").write_text("x")
        assert not (out / "file").exists()
    assert (out / "file").read_text() == "x"
    assert "out" not in name or os.listdir(out.parent) == ["out"]


def test_an_empty_folder_keeps_its_mode(tmp_path):
    (tmp_path / "out").mkdir(mode=0o700)
    with new_folder(tmp_path / "out") as folder:
        (folder / "file").touch()
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700


def test_folders_that_none_can_replace_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="is the current folder, or a disk"):
        check_free("../" + tmp_path.name)
    with monkeypatch.context() as patch:
        patch.chdir("/")
        patch.setattr(pathlib.Path, "is_mount", lambda path: True)
        with pytest.raises(InputError, match="a disk is mounted there"):
            check_free(tmp_path)
    check_free(tmp_path / "new")


def test_folder_that_holds_something_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="exists and isn't empty"):
        check_free(tmp_path)
    with pytest.raises(InputError, match="Not a directory. Accepted: a new"):
        check_free(tmp_path / "file")


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError(errno.ENOSPC, "No space left"), "the disk is full"),
        (
            tf.errors.ResourceExhaustedError(None, None, "No space left"),
            "the disk is full",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied"),
            "can't be written .Permission denied",
        ),
        (
            tf.errors.FailedPreconditionError(
                None, None, "/some/path; Is a directory\n\ttraceback"
            ),
            "can't be written .Is a directory.$",
        ),
        (
            tf.errors.FailedPreconditionError(
                None, None, "/some/path; File too large [Op:SaveV2]"
            ),
            "the disk is full",
        ),
    ],
    ids=repr,
)
def test_a_failure_to_write_is_told_and_leaves_nothing(tmp_path, error, says):
    with pytest.raises(InputError, match=f"out: {says}"):
        with new_folder(tmp_path / "a" / "b" / "out") as folder:
            write_half(folder / "file", error)
    assert os.listdir(tmp_path) == []


def test_what_is_written_within_is_told_as_the_folder(tmp_path):
    def write(folder):
        with writing(folder / "part"):
            raise OSError(errno.ENOSPC, "No space left")

    with pytest.raises(InputError, match="/out: the disk is full"):
        with new_folder(tmp_path / "out") as folder:
            write(folder)


def test_parents_that_another_filled_stay(tmp_path):
    def fail():
        (tmp_path / "a" / "b" / "theirs").mkdir()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        with new_folder(tmp_path / "a" / "b" / "out"):
            fail()
    assert os.listdir(tmp_path / "a" / "b") == ["theirs"]


def test_folder_that_appears_meanwhile_stays(tmp_path):
    def fill(folder):
        (folder / "mine").touch()
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "theirs").touch()

    with pytest.raises(InputError, match="out: appeared while"):
        with new_folder(tmp_path / "out") as folder:
            fill(folder)
    assert os.listdir(tmp_path) == ["out"]
    assert os.listdir(tmp_path / "out") == ["theirs"]


def test_removed_folder_loses_its_name_first(tmp_path):
    (tmp_path / "3").mkdir()
    (tmp_path / "3" / "file").touch()
    (tmp_path / ".tmp-12ab34cd-4").mkdir()  # What another is writing.
    remove_folder(tmp_path / "3")
    assert os.listdir(tmp_path) == [".tmp-12ab34cd-4"]
    with pytest.raises(InputError, match="5: can't be removed .No such"):
        remove_folder(tmp_path / "5")


def test_space_is_required_before_it_is_filled(tmp_path):
    require_space(tmp_path / "a", 100)
    with pytest.raises(OSError, match="File too large|No space left"):
        require_space(tmp_path / "a", 1 << 60)
