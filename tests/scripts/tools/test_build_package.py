"""The wheel has the whole package, and the lock has what it needs."""

import tarfile

import pytest

import keras_transformer
from scripts.tools import build_package


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("built")
    assert build_package.main([str(folder)]) == 0
    return folder


def test_wheel_and_sdist_have_the_version(built):
    name = f"keras_transformer-{keras_transformer.__version__}"
    assert {path.name for path in built.iterdir()} == {
        f"{name}-py3-none-any.whl",
        f"{name}.tar.gz",
        *(f"requirements-{version}.txt" for version in build_package.PYTHONS),
    }


def test_sdist_has_what_it_is_about_and_no_part_of_the_tests(built):
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff"} <= names
    assert not [name for name in names if name.startswith("tests")]


def test_a_file_that_the_wheel_lacks_is_told(tmp_path, monkeypatch, capsys):
    other = {"keras_transformer/new.yaml"}
    files = build_package.files_of(build_package.ROOT / "keras_transformer")
    monkeypatch.setattr(build_package, "files_of", lambda _: files | other)
    assert build_package.main([str(tmp_path)]) == 1
    assert (
        "differs in ['keras_transformer/new.yaml']" in capsys.readouterr().err
    )


@pytest.mark.parametrize("version", build_package.PYTHONS)
def test_requirements_are_the_part_of_the_lock_without_extras(built, version):
    text = (built / f"requirements-{version}.txt").read_text()
    names = {line.split("==")[0] for line in text.splitlines() if "==" in line}
    assert {"tensorflow", "keras", "duckdb", "grpcio", "pyyaml"} <= names
    assert not {"pytest", "matplotlib", "jax", "starlette", "ruff"} & names
    assert text.count("--hash=sha256:") >= len(names)
