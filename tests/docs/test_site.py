"""The site: its parts, and a build without a warning."""

import dataclasses
import shutil
import subprocess

import pytest

from keras_transformer.config import Config
from tests.docs.pages import DOCS, ROOT, markdown_files
from tests.processes import run_python

SEARCH = ROOT / "tests" / "docs" / "search.js"


# Options.


def test_every_field_is_explained(part):
    comments = part("options").comments
    for field in dataclasses.fields(Config):
        section = type(getattr(Config(), field.name))
        said = comments(section)
        names = [field.name for field in dataclasses.fields(section)]
        assert list(said) == names
        assert [name for name in names if not said[name]] == []


# The whole.


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built site; it takes a minute or two."""
    for module in ("sphinx", "myst_parser", "furo", "matplotlib"):
        pytest.importorskip(module, reason="needs [docs] and [plots]")
    folder = tmp_path_factory.mktemp("site")
    run_python("scripts/tools/build_site.py", folder, PYTHONPATH="")
    return folder


@pytest.mark.slow
def test_site_has_every_page(site):
    for language in ("en", "zh"):
        for page in markdown_files(DOCS / language):
            path = page.relative_to(DOCS).with_suffix(".html")
            assert (site / path).is_file()


@pytest.mark.slow
def test_chapters_offer_their_notebooks(site):
    for language in ("en", "zh"):
        for page in (DOCS / language / "tutorial").glob("*.md"):
            html = site / language / "tutorial" / f"{page.stem}.html"
            path = f"../notebooks/{page.stem}.ipynb"
            text = html.read_text("utf-8")
            assert f'<a href="{path}" download>' in text
            # Answers of exercises are folded.
            assert "Answer" not in text or "<details" in text
            assert (html.parent / path).is_file()
        assert (site / language / "notebooks" / "chapters.zip").is_file()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "query", "page"),
    [
        ("en", "label smoothing", "tutorial/11-loss"),
        ("en", "residuals", "tutorial/06-normalisation"),
        ("zh", "多头", "tutorial/05-heads"),
        ("zh", "自注意力", "tutorial/08-encoder"),
        ("zh", "softmax", "tutorial/04-attention"),
    ],
)
def test_search_finds_pages(site, language, query, page):
    if shutil.which("node") is None:
        pytest.skip("needs node to run the page's script")
    found = subprocess.run(
        ["node", SEARCH, site / language, query],
        capture_output=True,
        text=True,
        check=True,
    )
    assert page in found.stdout.splitlines()
