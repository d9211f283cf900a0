"""ARCHITECTURE.md: the files that it names are there, and every package."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[1]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
FOLDERS = (ROOT / "keras_transformer", ROOT)


def find(path):
    """The file or folder of a name in the text; None: there is none."""
    return next((f / path for f in FOLDERS if (f / path).exists()), None)


def test_every_file_exists():
    paths = re.findall(r"`([\w/]+(?:\.(?:py|yaml|toml)|/))`", TEXT)
    assert paths
    assert [path for path in paths if find(path) is None] == []


def test_every_package_is_in_the_picture():
    picture = TEXT.partition("```text")[2].partition("```")[0]
    packages = [
        path.parent.name
        for path in (ROOT / "keras_transformer").glob("*/__init__.py")
    ]
    assert [name for name in packages if name not in picture] == []
