"""The project as a whole: set-up scripts, lock, package."""

import ast
import itertools
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import keras_transformer

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "keras_transformer"
DOWNLOAD = "scripts/tools/download_corpus.py"
COMMANDS = [
    *("scripts/demo.sh", "scripts/test.sh", "scripts/test_wheel.sh"),
    ".ci/run",
]
SHELL_SCRIPTS = [*COMMANDS, "scripts/tools/lock.sh", "scripts/_setup.sh"]


LOCK, SPARK_LOCK = "requirements.lock", "requirements-spark.lock"


def locked(*names: str) -> dict[str, Version]:
    """The versions of locks by canonical name."""
    text = "".join((ROOT / name).read_text() for name in names or (LOCK,))
    pairs = re.findall(r"^([\w.-]+)==([\w.]+)", text, flags=re.MULTILINE)
    return {canonicalize_name(name): Version(text) for name, text in pairs}


def settings() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


# Scripts.


@pytest.mark.parametrize(
    "name", [*COMMANDS, "scripts/tools/download_corpus.py"]
)
def test_command_is_executable(name):
    assert os.access(ROOT / name, os.X_OK)


@pytest.mark.parametrize("name", SHELL_SCRIPTS)
def test_shell_script_is_well_formed(name):
    subprocess.run(["bash", "-n", ROOT / name], check=True)


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


@pytest.mark.parametrize("script", ["scripts/demo.sh", "scripts/test.sh"])
def test_machine_without_python_is_told_what_is_needed(bare_checkout, script):
    result = bare_checkout(script)
    assert result.returncode == 2
    assert result.stderr == (
        f"{Path(script).name}: needs Python 3.11, 3.12 or 3.13 on PATH; "
        "no python3 is there\n"
    )


def test_machine_with_an_old_python_is_told_its_version(bare_checkout):
    old = 'case "$1" in --version) echo Python 3.9.2 ;; *) exit 1 ;; esac'
    result = bare_checkout("scripts/test.sh", python=old)
    assert result.returncode == 2
    assert result.stderr.endswith("on PATH; python3 is Python 3.9.2\n")
    assert len(result.stderr.splitlines()) == 1


def test_machine_without_the_venv_module_is_told_the_package(bare_checkout):
    # As on Debian: the Python is fine, `import ensurepip` fails.
    without_venv = (
        'case "$2" in *ensurepip*) exit 1 ;; esac\n'
        f'exec "{sys.executable}" "$@"'
    )
    result = bare_checkout("scripts/demo.sh", python=without_venv)
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert result.returncode == 2
    assert result.stderr.endswith(f"apt-get install python{version}-venv\n")
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


@pytest.mark.parametrize("name", ["_setup.sh", "test_wheel.sh"])
def test_set_up_installs_the_lock_and_its_checksums_alone(name):
    # With a release of coverage newer than the lock's, pip 23 wanted that one
    # for coverage[toml], found no checksum of it, and gave up.
    text = (ROOT / "scripts" / name).read_text()
    options = r"--no-deps --require-hashes\s+\\\s+-r \S+/requirements\S+"
    assert re.search(options, text)


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


def test_locks_have_no_package_in_common():
    assert not set(locked(LOCK)) & set(locked(SPARK_LOCK))


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


def test_lock_leaves_out_the_project_and_pip():
    assert not {"keras-transformer", "pip"} & set(locked())


# Package.


def test_version_is_written_as_versions_are():
    # That a wheel gets it: tests/scripts/tools/test_build_package.py.
    version = keras_transformer.__version__
    assert str(Version(version)) == version


def test_changelog_has_an_unreleased_part_and_then_this_version():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    parts = re.findall(r"^## \[(.+?)\]", text, flags=re.MULTILINE)
    assert parts[:2] == ["Unreleased", keras_transformer.__version__]


def test_licence_is_apache():
    first_lines = (ROOT / "LICENSE").read_text().split("\n", 3)
    assert "Apache License" in " ".join(first_lines)
    assert settings()["project"]["license"] == "Apache-2.0"


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
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr


def test_imports_keep_to_the_contract():
    """What `[tool.importlinter]` in pyproject.toml says, and `.ci/run` runs."""
    result = subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-logo"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout
    assert "lint-imports" in (ROOT / ".ci/run").read_text()


def test_graph_functions_are_traced_as_written():
    """autograph would look for control flow of Python, and there is none."""
    used, given = [], []
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute):
                used += [path.name] * (ast.unparse(node) == "tf.function")
            if isinstance(node, ast.Call):
                options = {k.arg: ast.unparse(k.value) for k in node.keywords}
                if options.get("autograph") == "False":
                    given += [path.name]
    assert sorted(given) == sorted(used)


def test_every_folder_of_the_package_is_a_package():
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    missing = [
        folder for folder in folders if not (folder / "__init__.py").exists()
    ]
    assert missing == []


def test_files_that_begin_the_tests_exist():
    from tests.conftest import LONG_FILES

    missing = [n for n in LONG_FILES if not (ROOT / "tests" / n).is_file()]
    assert missing == []
