"""What pages of the site do, on a small one: opened as files, in a browser."""

import pytest

from tests.chromium import PATIENCE_MS, expect
from tests.docs.pages import DOCS
from tests.processes import run_python

CONF = f"""
import runpy

globals().update(runpy.run_path({str(DOCS / "conf.py")!r}))
extensions = ["myst_parser", "mathml", "search_texts"]
"""
INDEX = """# Home

```python
x = 1

print(x)
```

```text
1
```

```{toctree}
:glob:

pages/*
```
"""
PAGE = """# Page {number}

First words of it.

## About zebras

{text}Zebra number {number} has *stripes* of <b> black.
"""
NUMBERS = range(40, 45)


@pytest.fixture(scope="module")
def small_site(tmp_path_factory):
    """A site of a home page and five others, built as the real one is."""
    for module in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(module, reason="needs the extra [docs]")
    folder = tmp_path_factory.mktemp("small_site")
    source, out = folder / "source", folder / "out"
    (source / "pages").mkdir(parents=True)
    (source / "conf.py").write_text(CONF, encoding="utf-8")
    (source / "index.md").write_text(INDEX, encoding="utf-8")
    for number in NUMBERS:
        page = PAGE.format(number=number, text="Grass. " * 30)
        path = source / "pages" / f"{number}.md"
        path.write_text(page, encoding="utf-8")
    options = ["-q", "-W", "-D", "language=en"]
    run_python("-m", "sphinx", *options, source, out)
    return out


@pytest.fixture
def open_file(browser, small_site):
    """Opens a page as a file; in the end no script has failed."""
    problems = []

    def opened(path, **settings):
        page = browser.new_page(**settings)
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(f"file://{small_site}/{path}")
        return page

    yield opened
    assert problems == []


@pytest.mark.slow
def test_code_has_a_button_to_copy_it_and_output_has_none(open_file):
    page = open_file(
        "index.html", permissions=["clipboard-read", "clipboard-write"]
    )
    button = page.locator("button.copy")
    expect(button).to_have_count(1)
    page.locator("pre").first.hover()
    button.click()
    expect(button).to_have_text("Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "x = 1\n\nprint(x)\n"


@pytest.mark.slow
def test_the_search_shows_excerpts_of_files(open_file):
    page = open_file("search.html?q=zebra+number+42")
    item = page.locator("#search-results li", has_text="Page 42")
    excerpt = item.locator("p.context").first
    expect(excerpt).to_contain_text("Zebra number 42 has stripes of <b> black.")
    expect(excerpt).to_contain_text("… Grass.")
    link = item.locator("a").first
    link.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Page 42")
