"""What stands around the code: how to contribute, cite and report."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_paths_that_contributing_names_exist():
    code = re.findall(r"`([\w./-]+)`", text_of("CONTRIBUTING.md"))
    paths = [word for word in code if "/" in word and "NAME" not in word]
    assert len(paths) > 20
    for path in paths:
        bases = ROOT, ROOT / "keras_transformer", ROOT / "tests"
        assert any((base / path).exists() for base in bases), path
