"""Answers are folded, other admonitions are not."""

import pytest

from tests.docs.pages import DOCS

PAGE = """
Title
=====

.. admonition:: Answer <1>
   :class: dropdown

   It is 42.

.. admonition:: Remark

   Plain.
"""


@pytest.fixture
def html(tmp_path):
    """What Sphinx makes of the page."""
    build = pytest.importorskip("sphinx.cmd.build", reason="needs [docs]")
    (tmp_path / "index.rst").write_text(PAGE)
    (tmp_path / "conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(DOCS / '_ext')!r})\n"
        "extensions = ['folded']\n"
    )
    out = tmp_path / "out"
    assert build.main(["-q", "-W", str(tmp_path), str(out)]) == 0
    return (out / "index.html").read_text(encoding="utf-8")


def test_only_dropdowns_are_folded(html):
    assert html.count("<details") == html.count("</details>") == 1
    folded = html[html.index("<details") : html.index("</details>")]
    assert "<summary>Answer &lt;1&gt;</summary>" in folded
    assert "It is 42." in folded
    assert "Plain." not in folded


def test_a_title_stands_once(html):
    assert html.count("Answer &lt;1&gt;") == 1
    assert '<p class="admonition-title">Remark</p>' in html
