"""Links of one language's build to pages of the other."""

import subprocess
import sys

import pytest

from tests.docs.pages import DOCS


@pytest.fixture
def html(tmp_path):
    """The page that Sphinx makes of `zh/guides/page.md`."""
    for module in ("sphinx", "myst_parser"):
        pytest.importorskip(module, reason="needs the extra [docs]")
    for folder in ("zh/guides", "en/guides"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "zh/conf.py").write_text(
        f"import sys\nsys.path.insert(0, {str(DOCS / '_ext')!r})\n"
        "extensions = ['myst_parser', 'english_pages']\n"
    )
    (tmp_path / "zh/index.md").write_text(
        "# Index\n\n```{toctree}\nguides/page\n```\n"
    )
    (tmp_path / "en/guides/speed.md").write_text("# Speed\n")
    (tmp_path / "zh/guides/page.md").write_text(
        "# Page\n\n[Speed](../../en/guides/speed.md), [own](../index.md)\n"
    )
    out = tmp_path / "site/zh"
    command = [sys.executable, "-m", "sphinx", "-q", "-W"]
    result = subprocess.run(
        [*command, str(tmp_path / "zh"), str(out)],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return (out / "guides/page.html").read_text(encoding="utf-8")


def test_a_page_of_the_other_language_is_linked_as_html(html):
    assert 'href="../../en/guides/speed.html"' in html
    assert 'href="../index.html"' in html
