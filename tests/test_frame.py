"""What stands around the code names files and packages that are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "keras_transformer"
FOLDERS = ROOT, PACKAGE, ROOT / "tests"
PATH = re.compile(r"`([\w./-]+/[\w./-]*)`|\b(scripts/[\w/]+\.\w+)")


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "page", ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md"]
)
def test_paths_that_a_page_names_exist(page):
    paths = {one or other for one, other in PATH.findall(text_of(page))}
    assert len(paths) > 3
    for path in paths:
        assert "NAME" in path or any((f / path).exists() for f in FOLDERS), path


def test_every_package_is_in_the_picture_of_the_architecture():
    text = text_of("ARCHITECTURE.md")
    picture = text.partition("```text")[2].partition("```")[0]
    packages = [path.parent.name for path in PACKAGE.glob("*/__init__.py")]
    assert [name for name in packages if name not in picture] == []
