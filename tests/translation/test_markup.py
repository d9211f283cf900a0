"""Markup: what is translated, and what comes back."""

import re

from keras_transformer.symbols import SYMBOL
from keras_transformer.translation.markup import (
    MaskedLines,
    masking_markup,
    projecting_markup,
)
from keras_transformer.translation.request import (
    Hypothesis,
    Translation,
    joined_translation,
)


def translator(asked):
    """Translates to upper case, the words in reverse; aligns exactly."""

    def translate(texts):
        asked.append(texts)
        return [translation(text) for text in texts]

    return translate


def translation(text):
    words = text.rstrip(".").split()
    stop = ["."] if text.endswith(".") else []
    tokens = [*(f"▁{word.upper()}" for word in reversed(words)), *stop]
    result = "".join(tokens).replace("▁", " ").strip()
    # START, the words, the stop, END.
    source = ["", *words, *stop, ""]
    count = len(words)
    order = [*range(count, 0, -1), *([count + 1] * len(stop)), len(source) - 1]
    alignment = [[float(i == n) for i in range(len(source))] for n in order]
    hypothesis = Hypothesis(
        result, -1.0, -1.0, True, [*tokens, "</s>"], None, alignment
    )
    return Translation(text, [hypothesis], False, source)


def test_markup_comes_back_where_it_belongs():
    plain, marked = [], []
    translate = projecting_markup(translator(plain), translator(marked))
    texts = [
        "one two.",
        "open <b>the file</b> now.",
        "<br/>",
        "%s files in {place}",
    ]
    results = translate(texts)
    assert [result.source for result in results] == texts
    assert [result.hypotheses[0].text for result in results] == [
        "TWO ONE.",
        "NOW <b>FILE THE</b> OPEN.",
        "<br/>",
        "IN {place} %s FILES",
    ]
    # What has no markup needs no alignment.
    assert plain == [["one two."]]
    assert marked == [["open the file now.", "files in"]]


def test_a_copied_number_keeps_its_markup():
    """What stands before a sentence is in no token of it."""

    def align(texts):
        for text in texts:
            number, sentence = text.split(" ", 1)
            result = translation(sentence)
            (best,) = result.hypotheses
            best = best._replace(text=f"{number} {best.text}")
            yield result._replace(source=text, hypotheses=[best])

    translate = projecting_markup(translator([]), align)
    text = '<a href="#n">(1)</a> open <b>the file</b> now.'
    (result,) = translate([text])
    assert result.hypotheses[0].text == (
        '<a href="#n">(1)</a> NOW <b>FILE THE</b> OPEN.'
    )


def reversing(asked):
    """Translates pairs of tags by themselves, the rest in reverse."""

    def translate(lines):
        asked.append(lines)
        return [reversal(line) for line in lines]

    return translate


def reversal(line):
    best = Hypothesis(reversed_words(line), -1.0)
    return Translation(line, [best, Hypothesis(line, -2.0)])


def reversed_words(text):
    parts = re.findall(rf"{SYMBOL}|[^\s⟨]+", text)
    if "⟨/1⟩" in parts:  # They stay in order.
        return text.upper()
    return " ".join(reversed(parts)).upper()


def test_symbols_stand_for_markup():
    asked = []
    translate = masking_markup(reversing(asked), ("~",))
    texts = [
        "one two",
        "open <b>the file</b> ~now",
        "<br/>",
        "%s files in {place} ⟨5⟩",
        "<p>One. <b>Two.</b></p>",
    ]
    results = translate(texts)
    first = "one two", "open ⟨1⟩the file⟨/1⟩ ⟨2/⟩now"
    last = "⟨1/⟩ files in ⟨2/⟩ ⟨3/⟩", "One. ⟨2⟩Two.⟨/2⟩"
    assert asked == [[*first, *last]]
    assert [result.source for result in results] == texts
    assert [result.hypotheses[0].text for result in results] == [
        "TWO ONE",
        "OPEN <b>THE FILE</b> ~NOW",
        "<br/>",
        "⟨5⟩ {place} IN FILES %s",
        "<p>TWO. <b>ONE.</b></p>",
    ]
    assert results[3].hypotheses[1].text == texts[3]
    assert masking_markup(translate)([]) == []


def test_more_marks_than_numbers_are_translated_in_parts():
    text = "<b> " + " ".join(f"w{n} {{{n}}}" for n in range(20)) + "</b> end"
    asked = []
    (result,) = masking_markup(reversing(asked))([text])
    ((first, second),) = asked
    assert first.startswith("⟨1⟩ w0 ⟨2/⟩ w1")
    assert first.endswith("⟨16/⟩ w15 ")
    assert second == "⟨1/⟩ w16 ⟨2/⟩ w17 ⟨3/⟩ w18 ⟨4/⟩ w19 ⟨5/⟩⟨/6⟩ end"
    best, second = (one.text for one in result.hypotheses)
    assert second == text
    assert best.startswith("W15 {14}")
    assert best.endswith("{16} W16 {15}")
    assert sorted(re.findall(r"\{\d+\}|</?b>", best)) == sorted(
        re.findall(r"\{\d+\}|</?b>", text)
    )


def test_terms_that_a_translation_lacks_are_asked_for_again():
    asked = []

    def translate(texts):
        asked.append(texts)
        # It knows of annotations that they are between symbols.
        replies = [re.sub("⟨t⟩.*⟨/t⟩", "field", text) for text in texts]
        return [Translation(r, [Hypothesis(r, -1.0)], False) for r in replies]

    base, cell = "⟨t⟩base⟨=⟩base⟨/t⟩", "⟨t⟩cell⟨=⟩Zelle⟨/t⟩"
    lines = [f"a <b>{cell}</b> of {base}", f"{base} b", "c"]
    results = masking_markup(translate)(lines)
    assert asked == [
        ["a ⟨1⟩cell⟨/1⟩ of base", "base b", "c"],
        [f"a ⟨1⟩⟨2⟩{cell}⟨/2⟩⟨/1⟩ of base"],
    ]
    texts = [result.hypotheses[0].text for result in results]
    assert texts == ["a <b>Zelle</b> of base", "base b", "c"]
    assert [result.source for result in results] == lines


def test_a_translation_that_would_lose_a_term_stays():
    def translate(texts):
        places = {True: "⟨1⟩base⟨/1⟩ eines Felds", False: "Basis einer Zelle"}
        replies = [places["⟨" in text] for text in texts]
        return [Translation(r, [Hypothesis(r, -1.0)], False) for r in replies]

    (result,) = masking_markup(translate)(
        ["⟨t⟩base⟨=⟩base⟨/t⟩ of a ⟨t⟩cell⟨=⟩Zelle⟨/t⟩"]
    )
    assert result.hypotheses[0].text == "Basis einer Zelle"


def test_a_translation_without_a_place_for_terms_has_none():
    """A search goes on to its limit before it emits their symbols."""

    def translate(texts):
        replies = [f"ein Feld{' und' * 9 * ('⟨' in text)}" for text in texts]
        return [Translation(r, [Hypothesis(r, -1.0)], False) for r in replies]

    (result,) = masking_markup(translate)(["a ⟨t⟩cell⟨=⟩Zelle⟨/t⟩"])
    assert result.hypotheses[0].text == "ein Feld"


def test_a_prefix_has_the_symbols_of_its_text():
    masked = MaskedLines([("a <b>c</b> %s", "%s <b>X"), ("<br/>", "")])
    assert masked.parts == [("a ⟨1⟩c⟨/1⟩ ⟨2/⟩", "⟨2/⟩ ⟨1⟩X")]
    assert masked.has_marks
    # Its terms have no places: they may be behind.
    pair = "a ⟨t⟩b⟨=⟩B⟨/t⟩ %s", "A B"
    ((text, _),) = MaskedLines([pair]).parts
    assert text == "a ⟨t⟩b⟨=⟩B⟨/t⟩ ⟨1/⟩"
    assert not MaskedLines(["a b"]).has_marks


def test_no_two_hypotheses_are_the_same_once_marks_are_back():
    masked = MaskedLines(["a %s b %s"])
    assert masked.parts == ["a ⟨1/⟩ b ⟨2/⟩"]
    texts = ["A ⟨1/⟩ B ⟨2/⟩", "A ⟨2/⟩ B ⟨1/⟩", "B ⟨1/⟩ A ⟨2/⟩"]
    rows = [Hypothesis(text, -float(n)) for n, text in enumerate(texts)]
    (found,) = masked.unmasked([Translation(masked.parts[0], rows)])
    different = [(one.text, one.score) for one in found.hypotheses]
    assert different == [("A %s B %s", 0.0), ("B %s A %s", -2.0)]


def test_results_of_parts_are_one():
    parts = [
        Translation("a", [Hypothesis("A", -1.0, -2.0, True)], False, None, 2),
        Translation(
            "b", [Hypothesis("B", -3.0, -4.0), Hypothesis("C", -5.0)], True
        ),
    ]
    joined = joined_translation("a b", parts, ["A B", "A C"])
    assert joined.hypotheses[0] == Hypothesis("A B", -2.0, -6.0)
    assert joined.hypotheses[1].text == "A C"
    assert joined.truncated
    assert joined.sentences == 3
