"""The page of an evaluation: its numbers, its languages, what it lets in."""

import base64
import hashlib
import html.parser
import re

from tests.evaluation.reports import (
    OURS,
    REFERENCES,
    SOURCES,
    THEIRS,
    page_of,
)

HOSTILE = (
    '</bdi><script>alert(1)</script><img src=x onerror="a()">'
    "&amp;{name}'\"\x00\ud800\u202e</style>]]>"
)


class Page(html.parser.HTMLParser):
    """Elements and the texts of a page; refuses elements not well nested."""

    EMPTY = {"meta", "input", "rect", "path"}

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.texts = [], [], []
        self.hidden = None
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def in_english(page):
    """The text of a reader of English, a line for each row."""
    page = re.sub(r'<span class="label" lang="zh-Hans">.*?</span>', "", page)
    page = page.replace("</tr>", "\n").replace("</dd>", "\n")
    page = re.sub(r"(<(?:td|th|dt|dd|h2)[ >])", r" | \1", page)
    return html.unescape(re.sub(r"<[^>]*>", "", page))


def test_numbers_of_a_small_case():
    text = in_english(page_of())
    import sacrebleu

    for name, texts in (("ours", OURS), ("theirs", THEIRS)):
        bleu = sacrebleu.corpus_bleu(texts, [REFERENCES], tokenize="none")
        assert re.search(
            rf"^ \| {name} \| {bleu.score:.1f} \(\S+ … \S+\)", text, re.M
        )
    # 14 and 19 of 18 tokens.
    assert " | ours | 0.778 | 0.00% | 0.00% | 1 | 0\n" in text
    # "k k" stands four times: 3 of 15 2-grams and 1 of 7 4-grams.
    assert " | theirs | 1.056 | 20.00% | 14.29% | 0 | 0\n" in text
    assert " | References | 1.000 | 0.00% | 0.00% | 0 | 0\n" in text
    # By words of the source: 1, 2, 4, 5.
    for length in (1, 2, 4, 5):
        assert re.search(rf"^ \| {length} \| 1 \| ours \| ", text, re.M)


def test_best_and_worst_stand_side_by_side():
    text = in_english(page_of())
    worst = text.index("Worst sentences")
    best = text.index("Best sentences")
    ahead = text.index("Most ahead of theirs")
    behind = text.index("Most behind theirs")
    assert worst < best < ahead < behind
    first = text[worst:].split(" | Source")[1]
    assert "five" in first
    assert "ours 0.0" in first
    assert "(empty)" in first
    assert "theirs 100.0" in first
    first = text[best:].split(" | Source")[1]
    assert "six six" in first
    assert "ours 100.0" in first
    # Ahead in two sentences, behind in two.
    assert text[ahead:behind].count(" | Source") == 2
    assert text[behind:].count(" | Source") == 2


def test_it_says_what_p_values_are_of():
    text = in_english(page_of(resamples=0, tests=("ar",)))
    assert "No intervals were computed." in text
    assert "The p-values are of the difference to ours." in text
    assert "trials" not in in_english(page_of(tests=("bs",)))


def test_small_groups_have_no_interval():
    # 10 sentences of a word, 9 of two.
    sources = ["a"] * 10 + ["b c"] * 9
    references = ["w x y z"] * 19
    ours = ["w x y z", "w x"] * 9 + ["w x y z"]
    page = page_of({"ours": ours}, sources, references)
    text = in_english(page)
    assert re.search(r"^ \| 1 \| 10 \| ours \| \S+ \(\S+ … \S+\)", text, re.M)
    assert re.search(r"^ \| 2 \| 9 \| ours \| \d+\.\d \| \d+\.\d$", text, re.M)
    assert "Groups of less than 10 sentences have no interval." in text


def test_truncated_sentences_are_noted():
    assert "Truncated" not in in_english(page_of())
    noted = in_english(page_of(truncated=1200))
    assert "Truncated sentences: 1,200." in noted


def test_hostile_texts_stay_texts():
    systems = {
        HOSTILE: [HOSTILE] * 4,
        "ours": OURS,
    }
    sources = [HOSTILE, *SOURCES[1:]]
    page = page_of(systems, sources)
    parsed = Page(page)
    tags = {tag for tag, _ in parsed.elements}
    assert not tags & {"script", "img", "iframe", "object", "form", "a", "base"}
    for _, attributes in parsed.elements:
        assert not [name for name in attributes if name.startswith("on")]
        assert not attributes.keys() & {"src", "href", "style", "srcset"}
    assert "\x00" not in page
    shown = HOSTILE.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")
    assert sum(shown in text for text in parsed.texts) > 10
    page.encode("utf-8")


def test_it_loads_nothing_and_runs_nothing():
    page = page_of()
    parsed = Page(page)
    policies = [
        attributes["content"]
        for tag, attributes in parsed.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    (style,) = re.findall(r"<style>(.*?)</style>", page, re.S)
    digest = hashlib.sha256(style.encode()).digest()
    assert policies == [
        "default-src 'none'; base-uri 'none'; form-action 'none'; style-src "
        f"'sha256-{base64.b64encode(digest).decode()}'"
    ]
    assert "url(" not in style
    assert "@import" not in style
    assert "http" not in page.replace("http-equiv", "")


def test_every_label_is_in_both_languages():
    alone = page_of({"ours": OURS}, truncated=1)
    assert "ahead" not in in_english(alone)
    assert "p, " not in in_english(alone)
    page = page_of() + alone
    english, chinese = (
        re.findall(rf'<span class="label" lang="{lang}">', page)
        for lang in ("en", "zh-Hans")
    )
    assert len(english) == len(chinese) > 60
    # What has no Chinese is said alike in both.
    labels = set(re.findall(r'<(?:th scope="col"|h2)>([^<]+)<', page))
    assert labels == {"BLEU", "chrF"}
    assert "最差的句子" in page
    assert "比 " in page
