"""Markup in requests: masked by the embedded server and by the client."""

import contextlib
import re

import numpy as np
import pytest

from keras_transformer.constants import NO_SCORE
from keras_transformer.contract.status import Code
from keras_transformer.serving.client.remote_translator import (
    BATCH_SIZE,
    RemoteTranslator,
)
from keras_transformer.serving.client.request_errors import RequestError
from keras_transformer.serving.server.masking import (
    masked_pairs,
    masked_texts,
    run_masked,
)
from keras_transformer.symbols import SYMBOLS

TEXTS = ["a <b>c</b> %s", "d", "<br/>", "e ⟨1⟩f⟨/1⟩", "⟨1⟩ <i>g</i>"]
MASKED = ["a ⟨1⟩c⟨/1⟩ ⟨2/⟩", "d", "⟨1/⟩ ⟨2⟩g⟨/2⟩", "e ⟨1⟩f⟨/1⟩"]
BEST = ["A <b>C</b> %s", "D", "<br/>", "E ⟨1⟩F⟨/1⟩", "⟨1⟩ <i>G</i>"]


def encoded(texts):
    return np.array([text.encode() for text in texts], object)


def upper(asked, ranks=None):
    """A signature that translates to upper case."""

    def run(inputs, outputs):
        texts = [text.decode() for text in inputs["text"]]
        asked.append(texts)
        best = encoded([text.upper() for text in texts])
        count = len(texts)
        rest = {
            "truncated": np.zeros(count, bool),
            "sentences": np.ones(count, np.int32),
        }
        if ranks is None:
            found = {"translation": best, "score": np.full(count, -1.0), **rest}
        else:
            nothing = np.full((count, ranks - 1), b"", object)
            scores = np.full((count, ranks), NO_SCORE, np.float32)
            scores[:, 0] = -1.0
            found = {
                "translations": np.column_stack([best, nothing]),
                "scores": scores,
                **rest,
            }
        return {name: found[name] for name in outputs or found}

    return run


def test_a_server_masks_what_is_not_masked():
    asked = []
    found = run_masked(upper(asked), {"text": encoded(TEXTS)}, (), ())
    assert asked == [MASKED]
    assert [text.decode() for text in found["translation"]] == BEST
    assert found["score"].tolist() == [-1.0, -1.0, 0.0, -1.0, -1.0]
    assert found["sentences"].tolist() == [1, 1, 0, 1, 1]
    asked.clear()
    plain = {"text": encoded(["d", "⟨1⟩f⟨/1⟩"])}
    found = run_masked(upper(asked), plain, ("score",), ())
    assert (asked, list(found)) == ([["d", "⟨1⟩f⟨/1⟩"]], ["score"])


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("x ⟨1⟩ y", "x ⟨1⟩ y"),
        ("⟨7/⟩ x ⟨7/⟩ y", "⟨1/⟩ x ⟨2/⟩ y"),
        ("⟨1⟩⟨1⟩ x ⟨/1⟩⟨/1⟩ y", "⟨1⟩⟨2⟩ x ⟨/2⟩⟨/1⟩ y"),
        ("⟨t⟩ x ⟨/t⟩ y", "⟨1⟩ x ⟨/1⟩ y"),
        ("x ⟨=⟩ y", "x ⟨1/⟩ y"),
    ],
)
def test_a_server_masks_symbols_of_a_text_itself(text, masked):
    asked = []
    texts = {"text": encoded([text])}
    found = run_masked(upper(asked), texts, (), ())
    assert asked[0] == [masked]
    expected = text.replace("x", "X").replace("y", "Y")
    assert found["translation"][0].decode() == expected


def test_a_server_asks_again_for_terms():
    asked = []
    run = upper(asked)

    def without_annotations(inputs, outputs):
        found = run(inputs, outputs)
        texts = [text.decode() for text in found["translation"]]
        plain = [re.sub("⟨T⟩.*⟨/T⟩", "F", text) for text in texts]
        return found | {"translation": encoded(plain)}

    term = "⟨t⟩a⟨=⟩Zelle⟨/t⟩"
    texts = {"text": encoded([f"{term} <b>b</b>", "⟨t⟩a⟨=⟩a⟨/t⟩", "⟨1⟩c⟨/1⟩"])}
    found = run_masked(without_annotations, texts, (), ())
    first = ["a ⟨1⟩b⟨/1⟩", "a", "⟨1⟩c⟨/1⟩"]
    assert asked == [first, [f"⟨1⟩{term}⟨/1⟩ ⟨2⟩b⟨/2⟩"]]
    translations = [text.decode() for text in found["translation"]]
    assert translations == ["Zelle <b>B</b>", "A", "⟨1⟩C⟨/1⟩"]


def test_pairs_to_score_are_masked_alike():
    inputs = {
        "text": encoded(["a <b>c</b>", "a %s", "d"]),
        "translation": encoded(["<b>C</b> A", "A", "D"]),
    }
    found = masked_pairs(inputs, ())
    assert [t.decode() for t in found["text"]] == ["a ⟨1⟩c⟨/1⟩", "a", "d"]
    assert found["translation"][0].decode() == "⟨1⟩C⟨/1⟩ A"
    uneven = {**inputs, "translation": encoded(["A"])}
    assert masked_pairs(uneven, ()) is uneven


def test_texts_to_align_are_masked_as_for_their_translation():
    many = " ".join(["a %s"] * 3200)
    wrapped = "<p>a <b>c</b></p>"
    found = masked_texts({"text": encoded([*TEXTS, wrapped, many, ""])}, ())
    masked = [MASKED[0], "d", "⟨1/⟩", TEXTS[3], MASKED[2], "a ⟨2⟩c⟨/2⟩"]
    assert [t.decode() for t in found["text"]] == [*masked, many, ""]


def test_no_more_rows_run_at_once_than_were_asked_for():
    asked = []
    text = " ".join(["a %s"] * 3200)
    found = run_masked(upper(asked), {"text": encoded([text])}, (), ())
    assert found["translation"][0].decode() == text.upper().replace("%S", "%s")
    assert max(map(len, asked)) == 64


def test_a_server_masks_several_hypotheses():
    inputs = {"text": encoded(["<br/>", "~a", " ".join(["a %s"] * 20)])}
    found = run_masked(upper([], 3), inputs, ("translations", "scores"), ("~",))
    assert [row[0].decode() for row in found["translations"]] == (
        ["<br/>", "~A", " ".join(["A %s"] * 20)]
    )
    assert found["translations"].shape == (3, 3)
    assert found["scores"][1].tolist() == [-1.0, NO_SCORE, NO_SCORE]
    assert set(found) == {"translations", "scores"}


class FakeClient:
    """Answers as a server whose vocabulary has symbols, or others."""

    target = "target"

    def __init__(self, ids):
        self.ids, self.asked = ids, []

    def tokenize(self, texts):
        self.asked.append(texts)
        if self.ids is None:
            raise RequestError(Code.INVALID_ARGUMENT, "no such signature")
        return [[1, self.ids[text]] for text in texts]

    def predict_batches(self, batches, signature):
        for batch in batches:
            texts = [text.upper() for text in batch["text"]]
            self.asked.append(batch["text"])
            yield {"translation": texts, "score": [-1.0] * len(texts)}


@pytest.mark.parametrize(
    ("ids", "masks"),
    [
        ({symbol: n for n, symbol in enumerate(SYMBOLS, 4)}, True),
        (dict.fromkeys(SYMBOLS, 1), False),
        (None, False),
    ],
)
def test_a_client_masks_for_models_with_symbols(monkeypatch, ids, masks):
    client = FakeClient(ids)
    monkeypatch.setattr(
        RemoteTranslator,
        "_connected",
        lambda self: contextlib.nullcontext(client),
    )
    translator = RemoteTranslator("http://a", "m", None, None, 1.0)
    assert translator.translate(["d", "e"]) == ["D", "E"]
    # It isn't asked about symbols before there is markup.
    assert client.asked == [["d", "e"]]
    texts = ["a <b>c</b> %s", "d"]
    expected = ["A <b>C</b> %s", "D"] if masks else ["A <B>C</B> %S", "D"]
    assert sorted(translator.translate(texts)) == sorted(expected)
    assert translator.masks_markup() == masks
    # No request has more parts than others have texts.
    many = " ".join(["a %s"] * 1100)
    [found] = translator.translate([many])
    assert max(map(len, client.asked)) <= BATCH_SIZE
    assert not masks or found == many.upper().replace("%S", "%s")
    kept = RemoteTranslator("http://a", "m", None, None, 1, placeholders=None)
    assert kept.translate("a <b>c</b>") == "A <B>C</B>"
    assert not kept.masks_markup()
