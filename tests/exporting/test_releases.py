import os
import subprocess

import pytest

from keras_transformer.contract import layout
from keras_transformer.errors import InputError
from keras_transformer.exporting.registry import releases
from keras_transformer.exporting.registry.labels import roll_back, set_label
from keras_transformer.exporting.registry.releases import (
    list_releases,
    prune,
    publish,
    served_versions,
)
from keras_transformer.exporting.registry.version_folders import version_folders
from keras_transformer.exporting.verification.checks import CheckResult
from keras_transformer.system import leftovers
from tests.toy_runs import write_versions


@pytest.fixture
def base(tmp_path):
    return write_versions(tmp_path / "models" / "x", *range(1, 7))


@pytest.fixture
def unchecked(monkeypatch):
    """Publishes without the checks; returns the folders they were given."""
    folders = []

    def check(folder):
        assert (folder / layout.SAVED_MODEL).is_file()
        folders.append(folder)
        return (CheckResult("model_loads", True, "done"),)

    monkeypatch.setattr(releases, "check_in_fresh_process", check)
    return folders


def test_latest_is_served_or_what_labels_name_and_named_before(base):
    assert served_versions(base) == [6]
    assert served_versions(base.parent / "none") == []
    set_label(base, "stable", 2)
    assert served_versions(base) == [2]
    set_label(base, "canary", 5)
    assert served_versions(base) == [2, 5]
    # The server moves a label only to a version that it has loaded.
    set_label(base, "stable", 3)
    assert served_versions(base) == [2, 3, 5]
    roll_back(base)
    assert served_versions(base) == [2, 5]


def test_pruning_keeps_as_many_as_asked_and_what_is_no_version(base):
    (base / "0").mkdir()
    (base / "2024").mkdir()
    (base / "2024" / "photo.jpg").touch()
    assert prune(base, keep=4) == [1, 2]
    assert prune(base, keep=9) == []
    assert list(version_folders(base)) == [0, 3, 4, 5, 6, 2024]
    assert (base / "2024" / "photo.jpg").exists()


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("latest { num_versions: 1 }", []),
        ("specific { versions: 1 versions: 3 }", [1, 3]),
        ("specific { versions: [1, 3] }", [1, 3]),
    ],
)
def test_pruning_keeps_what_models_config_names(base, line, kept):
    (base.parent / "models.config").write_text(line)
    prune(base, keep=2)
    assert list(version_folders(base)) == [*kept, 5, 6]


def test_version_has_no_name_while_its_files_are_removed(base, monkeypatch):
    seen = []

    def remove(folder, ignore_errors=False):
        seen.append((folder.name, sorted(version_folders(base))))

    monkeypatch.setattr(releases.shutil, "rmtree", remove)
    prune(base, keep=5)
    name, versions = seen[0]
    assert name.startswith(".tmp-")
    assert versions == [2, 3, 4, 5, 6]


def test_pruning_removes_a_link_and_not_what_it_names(base, tmp_path):
    (base / "1").rename(tmp_path / "store")
    (base / "1").symlink_to(tmp_path / "store")
    assert prune(base, keep=5) == [1]
    assert sorted(os.listdir(base)) == ["2", "3", "4", "5", "6"]
    assert (tmp_path / "store" / layout.SAVED_MODEL).is_file()


def test_pruning_ends_what_was_cut_short(base, monkeypatch):
    killed = subprocess.Popen(["true"])
    assert killed.wait() == 0
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: killed.pid)
        left = leftovers.hidden(base / "1")
    monkeypatch.setattr(leftovers, "_swept", set())
    (base / "1").rename(left)
    (base / ".tmp-7-999").mkdir()  # what another process is writing
    assert prune(base, keep=9, dry_run=True) == []
    assert left.is_dir()
    assert prune(base, keep=9) == []
    names = sorted(os.listdir(base))
    assert names == [".tmp-7-999", "2", "3", "4", "5", "6"]


def test_published_version_is_a_checked_copy(base, tmp_path, unchecked):
    (base / "3" / "assets").mkdir()
    for folder in (base / "3" / "assets", base / "3"):
        folder.chmod(0o555)
    lines = []
    goal = publish(base / "3", tmp_path / "new", progress=lines.append)
    assert goal == tmp_path / "new" / "1"
    assert (goal / layout.SAVED_MODEL).read_text() == "xxx"
    assert os.listdir(goal.parent) == ["1"]
    for folder in (goal, goal / "assets"):
        assert folder.stat().st_mode & 0o700 == 0o700
    (checked,) = unchecked
    assert not checked.name.isdigit()
    assert not checked.exists()
    assert len(lines) == 2
    assert publish(base, tmp_path / "new") == tmp_path / "new" / "2"
    assert (tmp_path / "new" / "2" / layout.SAVED_MODEL).read_text() == "x" * 6
    assert publish(base, tmp_path / "new", version=9).name == "9"
    with pytest.raises(InputError, match="6 exists, and a version is never"):
        publish(base / "3", base, version=6)
    assert len(unchecked) == 3


def test_damaged_model_is_not_published(base, tmp_path):
    says = "1 was refused, nothing was published: check graph_is_readable"
    with pytest.raises(InputError, match=says):
        publish(base / "1", tmp_path / "new" / "model")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["none", "models/x/1"])
def test_folder_that_holds_no_versions_is_refused(base, tmp_path, name):
    for function in (list_releases, lambda path: prune(path, keep=1)):
        with pytest.raises(InputError, match="holds a model's versions"):
            function(tmp_path / name)


@pytest.mark.parametrize(
    "target", ["/dev/zero", "../../secret", ".", "missing"]
)
def test_what_a_link_names_elsewhere_is_not_published(base, unchecked, target):
    (base.parent / "secret").write_text("mine")
    source = base.parent / "source"
    (source / "assets.extra").mkdir(parents=True)
    (source / layout.SAVED_MODEL).write_text("x")
    link = source / "assets.extra" / "vocab"
    link.symlink_to(target)
    with pytest.raises(InputError, match="vocab: not a file of this folder"):
        publish(source, base)
    assert not (base / "7").exists()
    assert not unchecked
    link.unlink()
    link.symlink_to(f"../{layout.SAVED_MODEL}")
    assert publish(source, base) == base / "7"
    os.mkfifo(source / "pipe")
    with pytest.raises(InputError, match="pipe: not a file of this folder"):
        publish(source, base)
