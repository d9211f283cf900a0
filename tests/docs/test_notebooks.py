"""Chapters as notebooks: the cells of the page, which run in a kernel."""

import pytest

from tests.docs.pages import DOCS, assert_same_output, examples
from tests.kernels import executed, output_of

CHAPTERS = [
    path
    for language in ("en", "zh")
    for path in sorted((DOCS / language / "tutorial").glob("*.md"))
]
PICTURE = '<svg xmlns="http://www.w3.org/2000/svg"/>'


def name(path):
    return str(path.relative_to(DOCS))


@pytest.fixture
def make(part):
    """Makes the notebook of a text, with one picture for all."""
    pytest.importorskip("nbformat", reason="needs the extra [docs]")
    notebooks = part("notebooks")
    pages = notebooks.Pages(lambda name: PICTURE, lambda name: f"page {name}")
    return lambda text: notebooks.notebook(text, "en", pages)


def code_of(notebook):
    """The cells of code, but for that before the chapter."""
    cells = [c for c in notebook["cells"] if c["cell_type"] == "code"]
    assert cells[0]["metadata"]["tags"] == ["setup"]
    return cells[1:]


# The cells.


@pytest.mark.parametrize("chapter", CHAPTERS, ids=name)
def test_notebook_has_the_very_cells_of_the_page(make, chapter):
    import nbformat

    notebook = make(chapter.read_text(encoding="utf-8"))
    nbformat.validate(notebook)
    pairs = [
        (cell["source"] + "\n", output_of(cell)) for cell in code_of(notebook)
    ]
    assert pairs == [
        (one.code.text, one.output and one.output.text)
        for one in examples(chapter)
    ]


def test_answers_are_folded(make):
    answer = "````{admonition} Answer\n:class: dropdown\n\nForty-two.\n\n"
    code = "```python\nprint(42)\n```\n```text\n42\n```\n````\n"
    *_, text, cell = make(f"# T\n\n{answer}{code}")["cells"]
    assert text["source"].startswith("<details><summary>Answer</summary>\n\n")
    assert "Forty-two." in text["source"]
    assert cell["metadata"]["jupyter"]["source_hidden"]
    assert output_of(cell) == "42\n"


# In a kernel.


# The one that prepares data; what others print is tested as pages, and their
# cells are these pages'.
@pytest.mark.slow
def test_a_chapter_runs_as_a_notebook(make, tmp_path):
    chapter = DOCS / "en" / "tutorial" / "01-data.md"
    notebook = make(chapter.read_text(encoding="utf-8"))
    notebook = executed(notebook, tmp_path, 300)
    for cell, shown in zip(code_of(notebook), examples(chapter), strict=True):
        if shown.output is not None:
            where = f"{chapter}, line {shown.output.line}, as a notebook"
            assert_same_output(output_of(cell) or "", shown.output.text, where)
