"""The project as a whole: set-up scripts, lock, package."""

import itertools
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.processes import ROOT, run_python

LOCK, SPARK_LOCK = "requirements.lock", "requirements-spark.lock"


def locked(*names: str) -> dict[str, Version]:
    """The versions of locks by canonical name."""
    text = "".join((ROOT / name).read_text() for name in names or (LOCK,))
    pairs = re.findall(r"^([\w.-]+)==([\w.]+)", text, flags=re.MULTILINE)
    return {canonicalize_name(name): Version(text) for name, text in pairs}


def settings() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


# Scripts.


@pytest.fixture
def bare_checkout(tmp_path):
    """A checkout in a path with a space, and a PATH that has no Python.

    Returns a function that runs a script of it with a pretended `python3`.
    """
    folder = tmp_path / "a checkout"
    shutil.copytree(ROOT / "scripts", folder / "scripts")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "env", "dirname", "basename", "cat", "head"):
        (programs / name).symlink_to(shutil.which(name))

    def run(script, python=None):
        if python is not None:
            program = programs / "python3"
            program.write_text(f"#!/bin/sh\n{python}\n")
            program.chmod(0o755)
        return subprocess.run(
            [folder / script],
            env={"PATH": str(programs)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=30,
        )

    return run


OLD = 'case "$1" in --version) echo Python 3.9.2 ;; *) exit 1 ;; esac'
# As on Debian: the Python is fine, `import ensurepip` fails.
WITHOUT_VENV = (
    f'case "$2" in *ensurepip*) exit 1 ;; esac\nexec "{sys.executable}" "$@"'
)
PACKAGE_OF_VENV = f"python3.{sys.version_info.minor}-venv"


@pytest.mark.parametrize(
    ("script", "python", "says"),
    [
        ("demo.sh", None, "3.13 on PATH; no python3 is there"),
        ("test.sh", None, "3.13 on PATH; no python3 is there"),
        ("test.sh", OLD, "on PATH; python3 is Python 3.9.2"),
        ("demo.sh", WITHOUT_VENV, f"apt-get install {PACKAGE_OF_VENV}"),
    ],
    ids=["no Python", "no Python for tests", "old", "no venv"],
)
def test_what_a_machine_lacks_is_told_in_a_line(
    bare_checkout, script, python, says
):
    result = bare_checkout(f"scripts/{script}", python)
    assert result.returncode == 2
    assert result.stderr.startswith(f"{script}: ")
    assert result.stderr.endswith(f"{says}\n")
    assert len(result.stderr.splitlines()) == 1


# Lock.


@pytest.mark.parametrize("name", [LOCK, SPARK_LOCK])
def test_lock_has_only_names_versions_and_checksums(name):
    text = (ROOT / name).read_text()
    assert "://" not in text
    assert "@" not in text
    package = r"[\w.-]+==[\w.]+( \\\n    --hash=sha256:[0-9a-f]{64})+\n"
    comments = r"(#.*\n)+"
    assert re.fullmatch(f"{comments}({package})+", text)


def test_lock_satisfies_the_ranges_of_the_project():
    project = settings()["project"]
    texts = [
        *settings()["build-system"]["requires"],
        *project["dependencies"],
        *itertools.chain(*project["optional-dependencies"].values()),
    ]
    versions = locked(LOCK, SPARK_LOCK)
    for requirement in map(Requirement, texts):
        version = versions[canonicalize_name(requirement.name)]
        assert version in requirement.specifier, requirement


@pytest.mark.parametrize("names", [[LOCK], [LOCK, SPARK_LOCK]])
def test_lock_holds_every_dependency_of_what_it_holds(names):
    versions = locked(*names)
    installed = {canonicalize_name(d.name) for d in metadata.distributions()}
    missing = sorted(set(versions) - installed)
    if missing:
        pytest.skip(f"not set up by scripts/test.sh: no {', '.join(missing)}")
    for name in versions:
        for text in metadata.requires(name) or []:
            needed = Requirement(text)
            marker = needed.marker
            if marker is None or marker.evaluate({"extra": ""}):
                assert canonicalize_name(needed.name) in versions, (name, text)


# Package.


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        ("keras_transformer", {"tensorflow", "keras", "numpy"}),
        ("keras_transformer.__main__", {"tensorflow", "keras", "numpy"}),
        (
            "keras_transformer.cli.main as cli; cli.build_parser()",
            {"tensorflow", "keras"},
        ),
    ],
    ids=["package", "main", "parser"],
)
def test_importing_the_package_does_not_import_tensorflow(modules, heavy):
    code = (
        f"import sys, {modules}\n"
        f"heavy = {heavy} & set(sys.modules)\n"
        "sys.exit(f'imported: {heavy}' if heavy else 0)"
    )
    run_python("-c", code)
