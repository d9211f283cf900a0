"""The page in a browser: what it shows of what the server answers."""

import json
import re

import pytest

from tests.chromium import expect

# How long the page waits for the next key.
PAUSE_MS = 350
PREDICT = "**/*:predict"


@pytest.fixture
def page(open_page):
    return open_page()


def translation(page):
    return page.locator("#translation")


def translate(page, text):
    """Translates a text at once and waits for the translation."""
    page.locator("#source").fill(text)
    page.locator("#source").press("Control+Enter")
    first = text.upper().split("\n")[0]
    expect(translation(page).locator("p, li").first).to_have_text(first)


def stop_the_clock(page):
    """From here on the page's time goes by in `page.clock.run_for` only."""
    page.clock.install(time=0)
    page.clock.pause_at(1000)


def requests_of(page):
    """A list to which the page's requests are added, by address and body."""
    asked = []
    # The first of its own, for the lists of models and versions, are over.
    expect(page.locator("#version option").nth(1)).to_be_attached()
    page.on("request", lambda one: asked.append((one.url, one.post_data)))
    return asked


def inputs_of(asked, signature):
    """What a signature was asked for."""
    bodies = [json.loads(body) for _, body in asked if body]
    return [
        body["inputs"] for body in bodies if body["signature_name"] == signature
    ]


def rows_of(table):
    """The texts of a table's rows, once it is there."""
    expect(table).to_be_visible()
    return table.evaluate(
        "table => [...table.rows].map(row =>"
        " [...row.cells].map(cell => cell.textContent))"
    )


# Translating.


def test_typing_shows_the_translation_and_who_made_it(page):
    page.keyboard.type("good morning")  # the field has the focus
    expect(translation(page)).to_have_text("GOOD MORNING")
    about = re.compile(r"^en → zh, version 3, [\d,]+ ms$")
    expect(page.locator("#about")).to_have_text(about)
    expect(translation(page).locator("p")).to_have_attribute("lang", "zh")
    expect(page.locator("#source")).to_have_attribute("lang", "en")


def test_nothing_is_asked_while_one_types(page):
    asked = requests_of(page)
    stop_the_clock(page)
    for letter in "dog":
        page.keyboard.type(letter)
        page.clock.run_for(PAUSE_MS - 1)
    assert asked == []
    page.clock.run_for(1)
    expect(translation(page)).to_have_text("DOG")
    assert inputs_of(asked, "nbest") == [{"text": ["dog"]}]


def test_an_older_answer_never_overwrites_a_newer_one(page):
    held, failed = [], []
    page.on("requestfailed", lambda request: failed.append(request))

    def hold_the_first(route):
        if '"old"' in (route.request.post_data or "") and not held:
            held.append(route)
        else:
            route.continue_()

    page.route(PREDICT, hold_the_first)
    with page.expect_request(PREDICT):
        page.locator("#source").fill("old")
    translate(page, "new")
    assert held[0].request in failed
    outputs = {"translations": [["OLD"]], "scores": [[0]]}
    held[0].fulfill(json={"outputs": outputs})
    page.wait_for_timeout(100)
    expect(translation(page)).to_have_text("NEW")


@pytest.mark.slow
def test_an_input_method_s_unfinished_text_is_not_translated(page):
    asked = requests_of(page)
    stop_the_clock(page)
    client = page.context.new_cdp_session(page)
    unfinished = {"selectionStart": 2, "selectionEnd": 2}
    client.send("Input.imeSetComposition", {"text": "ni", **unfinished})
    page.clock.run_for(2 * PAUSE_MS)
    assert asked == []
    client.send("Input.insertText", {"text": "你"})
    page.clock.run_for(PAUSE_MS)
    expect(translation(page)).to_have_text("你")


@pytest.mark.slow
def test_lines_are_sentences_of_one_request(page):
    asked = requests_of(page)
    translate(page, "one\n\n  two words \nthree")
    items = translation(page).locator("ol > li")
    expect(items).to_have_text(["ONE", "TWO WORDS", "THREE"])
    expect(page.locator("#about")).to_contain_text("3 sentences")
    texts = ["one", "two words", "three"]
    assert inputs_of(asked, "nbest") == [{"text": texts}]
    page.get_by_label("Details of sentence").select_option("2. two words")
    corner = page.locator("#alignment tbody th").first
    expect(corner).to_have_text("TWO")
    assert rows_of(page.locator("#hypotheses"))[1][1] == "TWO WORDS"


@pytest.mark.slow
def test_a_text_that_is_too_long_for_the_model_says_truncated(page):
    translate(page, "short\n" + "long " * 20)
    notice = page.locator("#truncated")
    expect(notice).to_have_text(re.compile("Truncated.*: sentence 2. "))
    translate(page, "short")
    expect(notice).to_be_hidden()
    translate(page, "word " * 14)
    expect(notice).to_have_text(re.compile("^Truncated"))


# Details.


@pytest.mark.slow
def test_the_heat_map_is_a_table_with_headers_and_values(page):
    translate(page, "good day")
    table = page.locator("#alignment")
    assert rows_of(table) == [
        ["Translation \\ Text", "(start)", "good", "day", "(end)"],
        ["GOOD", "5", "85", "5", "5"],
        ["DAY", "5", "5", "85", "5"],
        ["(end)", "5", "5", "5", "85"],
    ]
    assert table.locator("th[scope=col]").count() == 4
    assert table.locator("th[scope=row]").count() == 3
    assert table.locator("th[lang=en]").all_inner_texts() == ["good", "day"]
    assert table.locator("th[lang=zh]").all_inner_texts() == ["GOOD", "DAY"]
    strongest = table.locator("td.strongest")
    assert strongest.all_inner_texts() == ["85", "85", "85"]


# Models and versions.


@pytest.mark.slow
def test_a_model_without_nbest_and_align_shows_what_it_has(page):
    page.get_by_label("Model").select_option("toy")
    translate(page, "good day")
    expect(page.locator("#about")).to_contain_text("toy, version 2, ")
    expect(page.locator("#hypotheses-part")).to_be_hidden()
    expect(page.locator("#alignment-part")).to_be_hidden()


def test_a_version_can_be_chosen(page):
    page.get_by_label("Model").select_option("toy")
    versions = page.get_by_label("Version").locator("option")
    expect(versions).to_have_text(["latest (2)", "2", "1"])
    translate(page, "a")
    page.get_by_label("Version").select_option("1")
    expect(translation(page)).to_have_text("one A")
    expect(page.locator("#about")).to_contain_text("toy, version 1, ")


# Errors.


def test_errors_are_said_in_words(page):
    translate(page, "before")
    problem, statuses = page.get_by_role("alert"), []

    def fail(route):
        if statuses[-1] is None:
            route.abort()
        else:
            body = '{"error": "Servable <b>x</b>"}'
            if statuses[-1] == 200:
                body = '{"outputs": {"scores": [[NaN]]}}'
            route.fulfill(status=statuses[-1], body=body)

    page.route(PREDICT, fail)
    for status, says in (
        (200, "can't be read"),
        (404, "is not there any more: Servable <b>x</b>"),
        (413, "too much text for one request"),
        (429, "too many requests"),
        (500, "The server failed (500): Servable <b>x</b>"),
        (503, "busy or not ready"),
        (504, "took too long"),
        (None, "does not answer"),
    ):
        statuses.append(status)
        page.locator("#source").fill("after")
        page.locator("#source").press("Control+Enter")
        expect(problem).to_contain_text(says)
        expect(translation(page)).to_be_empty()
    page.unroute(PREDICT)
    page.get_by_role("button", name="Try again").click()
    expect(translation(page)).to_have_text("AFTER")
    expect(problem).to_be_empty()


@pytest.mark.slow
def test_the_translation_stays_when_its_details_fail(page):
    def fail(route):
        if '"align"' in (route.request.post_data or ""):
            route.fulfill(status=429, json={"error": ""})
        else:
            route.continue_()

    page.route(PREDICT, fail)
    translate(page, "good day")
    notice = page.locator("#details-problem")
    expect(notice).to_contain_text("too many requests")
    expect(translation(page)).to_have_text("GOOD DAY")
    expect(page.locator("#alignment")).to_be_hidden()


# Safety.

MARKUP = "<img src=x onerror=alert(1)> <script>alert(2)</script>"


def test_markup_is_shown_as_text(page):
    dialogs = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog), dialog.accept()))
    translate(page, f"{MARKUP}\n{MARKUP}")
    expect(page.locator("#hypotheses")).to_contain_text(MARKUP.upper())
    header = page.locator("#alignment th", has_text="onerror=alert")
    expect(header.first).to_have_text("onerror=alert(1)>")
    options = page.get_by_label("Details of sentence").locator("option")
    expect(options.first).to_contain_text("<img src=x onerror=")
    assert page.locator("main img, main script").count() == 0
    assert dialogs == []


def test_inline_tags_are_shown_as_what_they_mean(page):
    source = page.locator("#source")
    source.fill('Open <b onclick="x()">File <i>now</i></b>, <emph>so</emph>.')
    source.press("Control+Enter")
    first = translation(page).locator("p").first
    expect(first).to_have_text("OPEN FILE NOW, <EMPH>SO</EMPH>.")
    assert first.evaluate("p => p.innerHTML") == (
        "OPEN <b>FILE <i>NOW</i></b>, &lt;EMPH&gt;SO&lt;/EMPH&gt;."
    )


def test_tags_that_are_not_well_nested_are_shown_as_text(page):
    for text in ("<b>a", "a</b>", "<b>a <i>b</b></i>"):
        translate(page, text)
