"""What pages of the site do, on a small one: opened as files, in a browser."""

import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest

from tests.chromium import PATIENCE_MS
from tests.docs.pages import DOCS

CONF = f"""
import runpy

globals().update(runpy.run_path({str(DOCS / "conf.py")!r}))
extensions = ["myst_parser", "dark_pictures", "mathml", "search_texts"]
"""
PICTURE = """<svg xmlns="http://www.w3.org/2000/svg" width="80" height="20">
<style>text {fill: #222}</style><rect width="80" height="20" fill="#fff"/>
<text x="1" y="9" clip-path="url(#abc)">Seen</text>
<path d="M0 0L9 9" style="stroke: #0072b2"/><rect fill="#eef3fb"/></svg>
"""
INDEX = """# Home

```python
x = 1

print(x)
```

```text
1
```

![A picture](picture.svg)

```{toctree}
:glob:

pages/*
```
"""
PAGE = """# Page {number}

First words of it.

## About zebras

{text}Zebra number {number} has *stripes* of <b> black.

| a | b |
| --- | --- |
| {wide} | 2 |
"""
NUMBERS = range(10, 70)


def expect(locator):
    from playwright.sync_api import expect

    return expect(locator)


@pytest.fixture(scope="module")
def small_site(tmp_path_factory):
    """A site of a home page and sixty others, built as the real one is."""
    for module in ("sphinx", "myst_parser", "furo"):
        pytest.importorskip(module, reason="needs the extra [docs]")
    folder = tmp_path_factory.mktemp("small_site")
    source, out = folder / "source", folder / "out"
    (source / "pages").mkdir(parents=True)
    (source / "conf.py").write_text(CONF, encoding="utf-8")
    (source / "index.md").write_text(INDEX, encoding="utf-8")
    (source / "picture.svg").write_text(PICTURE, encoding="utf-8")
    for number in NUMBERS:
        page = PAGE.format(number=number, text="Grass. " * 30, wide="w" * 99)
        path = source / "pages" / f"{number}.md"
        path.write_text(page, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-D", "language=en"]
    result = subprocess.run(
        [*command, str(source), str(out)], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    return out


@pytest.fixture
def open_file(browser, small_site):
    """Opens a page as a file; in the end no script has failed."""
    contexts, problems = [], []

    def opened(path, **settings):
        context = browser.new_context(**settings)
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(f"file://{small_site}/{path}")
        return page

    yield opened
    for context in contexts:
        context.close()
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
def test_code_is_selected_where_the_browser_copies_nothing(open_file):
    page = open_file("index.html")
    page.evaluate(
        "() => { navigator.clipboard.writeText = () => Promise.reject(); }"
    )
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Press Ctrl+C")).to_be_visible()
    assert "print(x)" in page.evaluate("String(getSelection())")


@pytest.mark.slow
@pytest.mark.parametrize("number", [10, 40, 69])
def test_the_sidebar_shows_the_entry_of_the_page(open_file, number):
    page = open_file(f"pages/{number}.html")
    entry = page.locator(".sidebar-tree .current-page > a")
    expect(entry).to_be_in_viewport()
    assert page.evaluate("scrollY") == 0


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


@pytest.mark.slow
def test_an_excerpt_of_a_section_begins_there(open_file):
    page = open_file("search.html?q=about+zebras")
    items = page.locator("#search-results li.kind-title")
    expect(items).to_have_count(len(NUMBERS))
    for text in items.locator("p.context").all_inner_texts():
        assert text.startswith("About zebras Grass. ")


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_picture_fits_the_page(open_file, scheme):
    page = open_file("index.html", color_scheme=scheme)
    seen = [
        one.get_attribute("class")
        for one in page.get_by_role("img", name="A picture").all()
        if one.is_visible()
    ]
    assert seen == [f"only-{scheme}"]


@pytest.mark.slow
def test_a_narrow_screen_scrolls_in_one_direction_only(open_file):
    page = open_file("pages/42.html", viewport={"width": 360, "height": 640})
    assert page.evaluate("document.documentElement.scrollWidth") == 360


@pytest.mark.slow
def test_a_table_of_two_columns_folds_on_a_narrow_screen(open_file):
    page = open_file("pages/42.html", viewport={"width": 360, "height": 640})
    left, right = (one.bounding_box() for one in page.locator("td").all())
    assert right["y"] >= left["y"] + left["height"] - 1
    assert right["width"] == left["width"] <= 328
    page.set_viewport_size({"width": 1200, "height": 640})
    left, right = (one.bounding_box() for one in page.locator("td").all())
    assert right["y"] == left["y"]


# Dark pictures.


def test_greys_and_tints_are_exchanged_and_colours_stay(part):
    svg = part("dark_pictures").dark(PICTURE)
    for kept in ("url(#abc)", "#0072b2", 'd="M0 0L9 9"'):
        assert kept in svg
    root = ET.fromstring(svg)
    paper, tint = (one.get("fill") for one in root.iter() if "rect" in one.tag)
    ink = root.get("fill")
    assert brightness(paper) < brightness(tint) < 60 < 200 < brightness(ink)
    assert "{fill: #222}" not in svg


def brightness(color):
    return sum(bytes.fromhex(color.removeprefix("#"))) / 3


# Texts for the search.


def test_each_word_is_in_the_text_at_its_anchor(part):
    docutils = pytest.importorskip("docutils.core", reason="needs [docs]")
    document = docutils.publish_doctree(
        "One\n===\n\nFirst *word*.\n\n.. comment\n\n.. math:: x\n\n"
        "Two\n===\n\n- item\n\n  again\n",
        settings_overrides={"doctitle_xform": False},
    )
    text, anchors = part("search_texts").text_and_anchors(document)
    assert text == "One First word. Two item again"
    assert text[anchors["two"] :] == "Two item again"
