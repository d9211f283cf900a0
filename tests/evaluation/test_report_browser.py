"""The page of an evaluation in a browser, in both of its languages."""

import re

import pytest

from tests import chromium
from tests.evaluation.reports import page_of

NAME = "runs/seed-1 + runs/seed-2 + runs/seed-3-of-another-machine"

browser = chromium.browser


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    ours = ["a b c d", "a b c d x y", "", "k l m n"]
    theirs = ["a b x x", "a b c d e f", "g h i j", "k k k k k"]
    page = page_of({NAME: ours, "theirs": theirs}, language="de")
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def open_page(browser, address):
    """Opens the page at a width; errors and messages fail the test."""
    messages, requested = [], []

    def opened(width=1000):
        page = browser.new_page(viewport={"width": width, "height": 700})
        page.on("console", lambda message: messages.append(message.text))
        page.on("request", lambda request: requested.append(request.url))
        page.goto(address)
        return page

    yield opened
    assert messages == []
    assert set(requested) <= {address}


def visible_text(page):
    return page.locator("body").inner_text()


def test_one_language_at_a_time(open_page):
    page = open_page()
    text = visible_text(page)
    assert "Worst sentences" in text
    assert "最差的句子" not in text
    page.get_by_label("中文").check()
    text = visible_text(page)
    assert "最差的句子" in text
    # No label is left in English; names, sentences and signatures are.
    page.locator("bdi, section:last-of-type td").evaluate_all(
        "elements => elements.forEach(element => element.remove())"
    )
    words = set(re.findall(r"[A-Za-z]{2,}", visible_text(page)))
    assert words <= {"English", "BLEU", "chrF", "data"}
    page.get_by_label("English").check()
    assert "Worst sentences" in visible_text(page)


def test_the_language_is_chosen_by_keyboard(open_page):
    page = open_page()
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert "最差的句子" in visible_text(page)


@pytest.mark.parametrize("width", [320, 360, 1000])
def test_nothing_is_wider_than_the_window(open_page, width):
    page = open_page(width)
    for language in ("English", "中文"):
        page.get_by_label(language).check()
        assert page.evaluate(
            "document.documentElement.scrollWidth <= window.innerWidth"
        )
        sizes = page.locator(".sentence dd").evaluate_all(
            "all => all.map(one => one.getBoundingClientRect().width)"
        )
        # Two thirds of a narrow window are the text's, of any at least half.
        assert min(sizes) > width * (0.66 if width < 640 else 0.5)
