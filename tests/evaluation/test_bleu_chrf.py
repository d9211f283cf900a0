import dataclasses
import importlib.util
import json
import socket

import pytest
import sacrebleu

from keras_transformer.errors import InputError
from keras_transformer.evaluation import bleu_chrf
from keras_transformer.evaluation.bleu_chrf import bleu_tokenizer, scores

CHINESE = ["我 喜欢 茶。", "他今天不来。"]


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_a_perfect_translation_scores_100():
    found = scores(CHINESE, CHINESE, "zh")
    assert found.bleu == pytest.approx(100)
    assert found.chrf == pytest.approx(100)
    assert found.sentences == 2


def test_scores_are_those_of_sacrebleu():
    hypotheses = ["The cat sat on the mat.", "It's raining today, they said."]
    references = ["The cat sits on the mat.", "It is raining today, he said."]
    found = scores(hypotheses, references, "en")
    bleu = sacrebleu.corpus_bleu(hypotheses, [references])
    chrf = sacrebleu.corpus_chrf(hypotheses, [references])
    assert found.bleu == bleu.score
    assert found.chrf == chrf.score
    assert 0 < found.bleu < 100


def test_signatures_name_tokenizer_and_version():
    found = scores(CHINESE, CHINESE, "zh")
    assert "tok:zh" in found.bleu_signature
    assert "nc:6" in found.chrf_signature
    for signature in (found.bleu_signature, found.chrf_signature):
        assert f"version:{sacrebleu.__version__}" in signature


def test_scores_become_json():
    found = scores(CHINESE, CHINESE, "zh")
    values = json.loads(json.dumps(dataclasses.asdict(found)))
    assert set(values) == {
        "bleu",
        "chrf",
        "bleu_signature",
        "chrf_signature",
        "sentences",
    }


def test_empty_translations_score_0():
    found = scores(["", ""], CHINESE, "zh")
    assert found.bleu == 0
    assert found.chrf == 0


def test_tokenized_text_gets_no_remark(caplog):
    scores(["a b ."] * 200, ["a b ."] * 200, "en")
    assert caplog.records == []


@pytest.mark.parametrize(
    ("language", "tokenizer"),
    [
        ("zh", "zh"),
        ("zh-CN", "zh"),
        ("zh_Hant", "zh"),
        ("cmn", "zh"),
        ("yue", "zh"),
        ("en", "13a"),
        ("pt-BR", "13a"),
        ("DE", "13a"),
        ("th", "char"),
    ],
)
def test_tokenizer_of_a_language(language, tokenizer):
    assert bleu_tokenizer(language) == tokenizer


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
    found = scores(["日本語 한국어"], ["日本語 한국"], language)
    assert found.chrf > 0


def test_installed_modules_are_found():
    assert bleu_chrf._is_installed("sacrebleu")
    assert importlib.util.find_spec("no_such_module") is None
    assert not bleu_chrf._is_installed("no_such_module")


def test_unequal_numbers_are_refused():
    with pytest.raises(InputError, match="2 translations, 1 references"):
        scores(["a", "b"], ["a"], "en")


def test_nothing_is_refused():
    with pytest.raises(InputError, match="0 sentences"):
        scores([], [], "en")
