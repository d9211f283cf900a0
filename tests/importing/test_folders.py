"""Folders that somebody else made: what of them is read, and what is not."""

import re

import pytest

from keras_transformer.errors import InputError
from keras_transformer.importing.folders import (
    LARGEST_YAML,
    inside,
    is_own,
    read_head,
    yaml_mapping,
)


def test_yaml_is_a_mapping():
    content = b"a: [1, {b: [x]}]\nc: 2\n"
    assert yaml_mapping(content, "x.yml") == {"a": [1, {"b": ["x"]}], "c": 2}
    for content in (b"a: 1\na: 2", b"[1]", b"\xff", b""):
        with pytest.raises(InputError, match=r"x.yml: damaged.*Accepted"):
            yaml_mapping(content, "x.yml")
    with pytest.raises(InputError, match="65,537 bytes. Accepted: up to"):
        yaml_mapping(b"#" * (LARGEST_YAML + 1), "x.yml")


def test_names_lead_to_files_within_the_folder(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    (folder / "one").symlink_to("other")
    (folder / "other").symlink_to("one")
    path = folder / "x.yml"
    assert inside(folder, path, "a", {"a": "b/c"}) == folder / "b/c"
    for name in ("../b", "/b", "link/b", "", 3, None):
        with pytest.raises(InputError, match=r"x.yml: a is .*Accepted"):
            inside(folder, path, "a", {"a": name})


def test_the_head_of_a_file(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"abc\xff" + b"d" * 10)
    assert read_head(path, 5) == "abc\ufffdd"
    with pytest.raises(InputError, match=re.escape("nothing: No such file")):
        read_head(tmp_path / "nothing")


def test_links_to_another_folder_are_not_its_own(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "secret").write_text("key")
    (folder / "README").write_text("text")
    (folder / "inner").symlink_to("README")
    (folder / "outer").symlink_to("../secret")
    (folder / "nowhere").symlink_to("nothing")
    (folder / "circle").symlink_to("circle")
    names = ("README", "inner", "outer", "nowhere", "circle", "nothing")
    own = [name for name in names if is_own(folder / name)]
    assert own == ["README", "inner"]


def test_files_of_hugging_faces_cache_are_links_to_its_blobs(tmp_path):
    snapshot, blobs = tmp_path / "snapshots" / "model", tmp_path / "blobs"
    snapshot.mkdir(parents=True)
    names = "0" * 40, "a" * 64, "id_rsa", "../.ssh/id_rsa"
    for number, name in enumerate(names):
        (blobs / name).parent.mkdir(exist_ok=True)
        (blobs / name).write_text("key")
        (snapshot / str(number)).symlink_to(f"../../blobs/{name}")
    own = [is_own(snapshot / str(number)) for number in range(4)]
    assert own == [True, True, False, False]
