"""The page for everyone: keyboard, screen reader, phone, language, colours."""

import re

import pytest

from tests.chromium import expect

TEXT = "good day to you all my friends who are far away"
# What can be used must have a name.
CONTROLS = {
    "DisclosureTriangle",
    "button",
    "combobox",
    "link",
    "region",
    "table",
    "textbox",
}


def translated(page, text=TEXT):
    """The page with a translation and all of its details."""
    page.locator("#source").fill(text)
    page.locator("#source").press("Control+Enter")
    expect(page.locator("#alignment td.strongest").first).to_be_visible()
    return page


# Languages.


@pytest.mark.medium
def test_the_language_can_be_switched_and_is_remembered(open_page):
    page = translated(open_page())
    assert page.locator("html").get_attribute("lang") == "en"
    page.get_by_label("Language of this page").select_option("中文")
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
    expect(page).to_have_title("翻译")
    expect(page.get_by_role("heading", level=1)).to_have_text("翻译")
    expect(page.locator("#about")).to_contain_text("en → zh，版本 3，")
    expect(page.locator("#hypotheses th").first).to_have_text("名次")
    expect(page.locator("#alignment th").first).to_have_text("（句首）")
    expect(page.locator("#version option").first).to_have_text("最新 (3)")
    page.reload()
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
    expect(page.get_by_label("页面语言")).to_have_value("zh")


@pytest.mark.medium
def test_both_languages_say_everything(open_page):
    page = open_page()
    used, messages = page.evaluate(
        """async () => {
          const { MESSAGES } = await import("/assets/messages.js");
          const places = document.querySelectorAll("[data-message]");
          return [[...places].map((p) => p.dataset.message), MESSAGES];
        }"""
    )
    english, chinese = messages["en"], messages["zh"]
    assert english.keys() == chinese.keys()
    assert set(used) <= english.keys()
    for key, text in english.items():
        names = sorted(re.findall(r"\{\w+\}", text))
        assert sorted(re.findall(r"\{\w+\}", chinese[key])) == names, key
        assert re.search(r"[\u4e00-\u9fff、]", chinese[key]), key


# Keyboard.


def focused(page):
    """What has the focus, and how wide its outline is."""
    return page.evaluate(
        """() => {
          const { id, localName } = document.activeElement;
          const style = getComputedStyle(document.activeElement);
          const seen = style.outlineStyle !== "none";
          return [id || localName, seen ? parseFloat(style.outlineWidth) : 0];
        }"""
    )


def test_all_can_be_reached_by_keyboard_and_the_focus_is_seen(open_page):
    page = translated(open_page(), f"{TEXT}\nmore")
    assert focused(page)[0] == "source"
    reached = []
    for _ in range(20):
        page.keyboard.press("Tab")
        name, outline = focused(page)
        if name == "body":
            continue  # Its turn is the browser's own controls'.
        if name in reached:
            break
        assert outline >= 2, name
        reached.append(name)
    assert set(reached) >= {
        *("interface", "model", "version", "source", "clear"),
        *("sentence", "summary", "hypotheses-scroll", "alignment-scroll"),
    }


def test_all_can_be_done_by_keyboard(open_page):
    page = open_page()
    page.keyboard.type("good day")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#translation")).to_have_text("GOOD DAY")
    details = page.locator("#alignment-part")
    page.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(details).not_to_have_attribute("open", "")
    page.keyboard.press("Space")
    expect(details).to_have_attribute("open", "")
    page.get_by_label("Model").focus()
    page.keyboard.press("ArrowDown")
    expect(page.locator("#about")).to_contain_text("toy, version 2, ")
    page.get_by_label("Language of this page").focus()
    page.keyboard.press("ArrowDown")
    expect(page).to_have_title("翻译")
    page.get_by_role("button", name="清空").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#source")).to_have_value("")


# Screen readers.


def accessibility_tree(page):
    """Role, name and properties of all that a screen reader is told."""
    client = page.context.new_cdp_session(page)
    nodes = client.send("Accessibility.getFullAXTree")["nodes"]
    return [
        (
            node["role"]["value"],
            node.get("name", {}).get("value", ""),
            {p["name"]: p["value"].get("value") for p in node["properties"]},
        )
        for node in nodes
        if not node["ignored"] and "properties" in node
    ]


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
def test_every_control_has_a_name(open_page, locale):
    page = translated(open_page(locale=locale), f"{TEXT}\nmore")
    controls = [
        (role, name)
        for role, name, _ in accessibility_tree(page)
        if role in CONTROLS
    ]
    assert [role for role, name in controls if not name.strip()] == []
    roles = [role for role, _ in controls]
    assert roles.count("combobox") == 4
    assert roles.count("table") == 2
    assert {"DisclosureTriangle", "button", "textbox"} <= set(roles)


# Phones.


@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
def test_a_narrow_screen_scrolls_in_one_direction_only(open_page, locale):
    page = open_page(locale=locale, viewport={"width": 360, "height": 640})
    translated(page, f"{TEXT}\n{'w' * 100}")
    page.locator("#sentence").select_option("1")
    expect(page.locator("#alignment tbody th").first).to_have_text("W" * 100)
    width = "document.documentElement.scrollWidth"
    assert page.evaluate(width) == 360
    box = page.locator("#source").bounding_box()
    assert 300 <= box["width"] <= 360
    assert page.locator("#hypotheses").bounding_box()["width"] <= 328
    for button in page.get_by_role("button").all():
        assert button.bounding_box()["height"] >= 44
