#!/usr/bin/env python3
"""Builds the sdist and, of the sdist, the wheel, and checks both.

    .venv/bin/python scripts/tools/build_package.py FOLDER

FOLDER gets both, and a `requirements-3.X.txt` for each supported Python: the
part of requirements.lock that the wheel without extras needs, with checksums.
Whatever stands in the package's folder has to stand in the wheel. It is run
with the locked packages, whose metadata says what needs what.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = "keras_transformer"
# What is built of; MANIFEST.in and pyproject.toml choose of these.
SOURCES = (
    *("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"),
    *("CHANGELOG.md", "CITATION.cff"),
)
PYTHONS = ("3.11", "3.12", "3.13")
_LOCKED = re.compile(
    r"^([\w.-]+)==\S+ \\\n(?:    --hash=\S+(?: \\)?\n)+", re.MULTILINE
)


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args(arguments).folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    wheel = build(folder)
    missing = files_of(ROOT / PACKAGE) ^ files_in(wheel)
    if missing:
        print(f"{wheel.name}: differs in {sorted(missing)}", file=sys.stderr)
        return 1
    for version in PYTHONS:
        path = folder / f"requirements-{version}.txt"
        path.write_text(locked_part(needed(version)), encoding="utf-8")
    print(wheel)
    return 0


def build(folder: pathlib.Path) -> pathlib.Path:
    """Builds both into a folder; the wheel's path."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = pathlib.Path(scratch) / "copy"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / PACKAGE, copy / PACKAGE, ignore=ignored)
        for name in SOURCES:
            shutil.copy(ROOT / name, copy)
        sdist = _built("build_sdist", copy, folder)
        # As pip does with an sdist: nothing else is at hand.
        with tarfile.open(sdist) as archive:
            # Python 3.11 before 3.11.4 has no filters.
            only_data = getattr(tarfile, "data_filter", None)
            archive.extraction_filter = only_data
            archive.extractall(scratch)
        name = sdist.name.removesuffix(".tar.gz")
        return _built("build_wheel", pathlib.Path(scratch) / name, folder)


def _built(what, source, folder):
    code = (
        "import sys; from setuptools import build_meta; "
        f"print(build_meta.{what}(sys.argv[1]), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder)],
        cwd=source,
        check=False,
        text=True,
        capture_output=True,
    )
    if done.returncode:
        raise SystemExit(f"{what}: {done.stderr}")
    return folder / done.stderr.splitlines()[-1]


def files_of(package: pathlib.Path) -> set[str]:
    """The files below a package's folder, by their paths in a wheel."""
    return {
        path.relative_to(package.parent).as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def files_in(wheel: pathlib.Path) -> set[str]:
    """The files of the package in a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    return {name for name in names if name.startswith(f"{PACKAGE}/")}


def needed(version: str) -> set[str]:
    """Names of what the package without extras needs under a Python."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    waiting = [Requirement(one) for one in settings["project"]["dependencies"]]
    names = set()
    environment = {
        "python_version": version,
        "python_full_version": f"{version}.0",
    }
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in names and not requirement.extras:
            continue
        names.add(name)
        for text in metadata.requires(name) or []:
            inner = Requirement(text)
            if inner.marker is None or any(
                inner.marker.evaluate({**environment, "extra": extra})
                for extra in ("", *requirement.extras)
            ):
                waiting.append(inner)
    return names


def locked_part(names: set[str]) -> str:
    """The entries of the lock with these canonical names.

    Raises:
        ValueError: the lock has no such name.
    """
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    entries = {
        canonicalize_name(match[1]): match[0]
        for match in _LOCKED.finditer(lock)
    }
    if missing := sorted(names - set(entries)):
        raise ValueError(f"requirements.lock has no {', '.join(missing)}")
    return "".join(entries[name] for name in sorted(names))


if __name__ == "__main__":
    sys.exit(main())
