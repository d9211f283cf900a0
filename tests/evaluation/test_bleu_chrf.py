import socket

import pytest
import sacrebleu

from keras_transformer.evaluation import bleu_chrf
from keras_transformer.evaluation.bleu_chrf import bleu_tokenizer, scores
from keras_transformer.evaluation.significance import compare

CHINESE = ["我 喜欢 茶。", "他今天不来。"]


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_scores_are_those_of_sacrebleu():
    hypotheses = ["The cat sat on the mat.", "It's raining today, they said."]
    references = ["The cat sits on the mat.", "It is raining today, he said."]
    found = scores(hypotheses, references, "en")
    bleu = sacrebleu.corpus_bleu(hypotheses, [references])
    chrf = sacrebleu.corpus_chrf(hypotheses, [references])
    assert (found.bleu, found.chrf) == (bleu.score, chrf.score)
    assert "tok:13a" in found.bleu_signature
    perfect = scores(CHINESE, CHINESE, "zh")
    assert (perfect.bleu, perfect.chrf) == pytest.approx((100, 100))
    assert max(perfect.bleu, perfect.chrf) <= 100
    blank = scores(["", ""], CHINESE, "zh")
    assert (blank.bleu, blank.chrf) == (0, 0)


def test_texts_are_compared_in_one_spelling():
    written = [
        "\u09df \u0958\u0932\u092e caf\u00e9 a b",
        "\u200f\u05d0 a b c d",
    ]
    spelt = [
        "\u09af\u09bc \u0915\u093c\u0932\u092e cafe\u0301 a b",
        "\u05d0 a b c d",
    ]
    found = scores(spelt, written, "bn")
    assert (found.bleu, found.chrf) == pytest.approx((100, 100))
    compared = compare({"a": spelt}, written, "bn").systems[0]
    assert compared.bleu == pytest.approx(100)


def test_tokenized_text_gets_no_remark(caplog):
    scores(["a b ."] * 200, ["a b ."] * 200, "en")
    assert caplog.records == []


@pytest.mark.parametrize(
    ("tokenizer", "languages"),
    [
        ("zh", ["zh", "zh-CN", "zh_Hant", "cmn", "yue", "nan", "gan"]),
        ("13a", ["en", "pt-BR", "DE", "nan_Latn"]),
        ("char", ["th", "dz", "tib", "bur", "tha_Thai", "khm_Khmr"]),
    ],
)
def test_tokenizer_of_a_language(tokenizer, languages):
    assert set(map(bleu_tokenizer, languages)) == {tokenizer}


@pytest.mark.parametrize(
    ("language", "name"), [("ja", "ja-mecab"), ("ko-KR", "ko-mecab")]
)
def test_mecab_is_used_where_it_is_installed(language, name, monkeypatch):
    monkeypatch.setattr(bleu_chrf, "_is_installed", lambda module: True)
    assert bleu_tokenizer(language) == name
    monkeypatch.setattr(bleu_chrf, "_is_installed", lambda module: False)
    assert bleu_tokenizer(language) == "char"


@pytest.mark.parametrize("language", ["ja", "ko", "th"])
def test_a_score_needs_no_download(language):
    assert scores(["日本語 한국어"], ["日本語 한국"], language).chrf > 0
