"""Folders of compiled programs, which belong to the user alone."""

import pathlib

import pytest

from keras_transformer.training.jax_runtime import private_cache_folder


@pytest.fixture
def base(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_a_new_folder_is_the_users_alone(base):
    folder = private_cache_folder("tensorflow")
    assert folder.parent == base / "keras_transformer"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert private_cache_folder("tensorflow") == folder
    assert private_cache_folder("keras") != folder


@pytest.mark.parametrize("mode", [0o770, 0o707])
@pytest.mark.parametrize("above", [False, True])
def test_one_that_others_may_write_to_is_not_used(base, mode, above):
    folder = private_cache_folder("tensorflow")
    (folder.parent if above else folder).chmod(mode)
    assert private_cache_folder("tensorflow") is None


def test_without_a_place_to_write_there_is_none(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert private_cache_folder("tensorflow") is None

    def home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(pathlib.Path, "home", home)
    assert private_cache_folder("tensorflow") is None
