"""What stands around the code: how to contribute, cite and report."""

import re
from pathlib import Path

import yaml

import keras_transformer

ROOT = Path(__file__).resolve().parents[1]


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_citation_has_what_its_format_wants():
    citation = yaml.safe_load(text_of("CITATION.cff"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert citation["title"] == "keras_transformer"
    assert citation["version"] == keras_transformer.__version__
    assert citation["license"] == "Apache-2.0"
    assert citation["message"]
    assert citation["abstract"]
    for entry in (citation, *citation["references"]):
        for author in entry["authors"]:
            assert set(author) in ({"name"}, {"family-names", "given-names"})
    for reference in citation["references"]:
        assert {"type", "title", "authors"} <= set(reference)


def test_paths_that_contributing_names_exist():
    code = re.findall(r"`([\w./-]+)`", text_of("CONTRIBUTING.md"))
    paths = [word for word in code if "/" in word and "NAME" not in word]
    assert len(paths) > 20
    for path in paths:
        bases = ROOT, ROOT / "keras_transformer", ROOT / "tests"
        assert any((base / path).exists() for base in bases), path
