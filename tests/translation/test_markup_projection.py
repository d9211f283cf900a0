"""Markup projection: what is translated, and what comes back."""

from keras_transformer.translation.markup_projection import projecting_markup
from keras_transformer.translation.request import Hypothesis, Translation


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
