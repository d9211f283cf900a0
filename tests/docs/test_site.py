"""The site: its parts, and a build without a warning."""

import dataclasses
import importlib
import subprocess
import sys

import pytest

from keras_transformer.config import Config
from tests.docs.pages import DOCS, ROOT


@pytest.fixture
def part(monkeypatch):
    """Imports a module of `docs/_ext` or `scripts`; Sphinx may be missing."""
    pytest.importorskip("sphinx", reason="needs the extra [docs]")
    for folder in (DOCS / "_ext", ROOT / "scripts"):
        monkeypatch.syspath_prepend(folder)
    return importlib.import_module


# Links.


@pytest.fixture
def links(part, tmp_path):
    """Checks a site of two pages: this text, and another with an anchor."""
    (tmp_path / "other.html").write_text('<p id="here">')

    def check(text):
        (tmp_path / "page.html").write_text(text)
        return part("site_links").problems(tmp_path)

    return check


@pytest.mark.parametrize(
    "text",
    [
        '<a href="other.html#here">',
        '<a href="#top"><p id="top">',
        '<img src="data:image/png;base64,AA==">',
        '<svg xmlns="http://www.w3.org/2000/svg">',
    ],
)
def test_links_within_the_site_are_fine(links, text):
    assert links(text) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('<a href="https://example.org/">', "leads out"),
        ('<script src="//example.org/a.js">', "leads out"),
        ('<a href="none.html">', "no such file"),
        ('<img src="none.svg">', "no such file"),
        ('<a href="other.html#there">', "no such place"),
    ],
)
def test_bad_links_are_named_with_their_page(links, text, problem):
    (found,) = links(text)
    assert found.startswith("page.html: ") and problem in found


def test_addresses_in_styles_are_found(links, tmp_path):
    (tmp_path / "a.css").write_text("@import url('https://example.org/f.css')")
    assert "a.css: https://example.org/f.css" in links("<p>")[0]


# Search in Chinese.


def test_chinese_text_is_searched_by_characters_and_pairs(part):
    search = part("chinese_search").ChineseSearch({})
    assert search.split("多头注意力, two heads2") == (
        ["多", "头", "注", "意", "力", "多头", "头注", "注意", "意力"]
        + ["two", "heads2"]
    )
    assert search.word_filter("头") and not search.word_filter("the")


# Options.


def test_every_field_is_explained(part):
    comments = part("options").comments
    for field in dataclasses.fields(Config):
        section = type(getattr(Config(), field.name))
        said = comments(section)
        names = [field.name for field in dataclasses.fields(section)]
        assert list(said) == names
        assert [name for name in names if not said[name]] == []


def test_explanations_are_those_beside_or_above_the_fields(part):
    model, data, decoding = (
        part("options").comments(type(section))
        for section in (Config().model, Config().data, Config().decoding)
    )
    assert model["activation"] == "relu, gelu or swish"
    assert data["remove_duplicates"] == "exact duplicate pairs"
    assert data["source_tokenizer"].startswith("auto: characters for zh")
    assert data["target_tokenizer"] == data["source_tokenizer"]
    assert decoding["max_length_offset"].startswith("Output tokens allowed")
    assert decoding["min_length"] == "tokens before the end may come"


# The whole.


@pytest.mark.slow
def test_site_builds_without_a_warning(part, tmp_path):
    for module in ("sphinx", "myst_parser", "furo", "matplotlib"):
        pytest.importorskip(module, reason="needs [docs] and [plots]")
    result = subprocess.run(
        [sys.executable, "scripts/build_site.py", tmp_path / "site"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    for language in ("en", "zh"):
        pages = {
            str(page.relative_to(DOCS / language).with_suffix(""))
            for page in (DOCS / language).rglob("*.md")
        }
        for page in pages:
            assert (tmp_path / "site" / language / f"{page}.html").is_file()
