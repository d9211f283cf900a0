"""Intervals and p-values are sacreBLEU's, whatever the environment says."""

import dataclasses
import json
import random

import pytest
from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.significance import PairedTest

from keras_transformer.errors import InputError
from keras_transformer.evaluation.significance import (
    Resampling,
    compare,
    p_value_text,
    score_text,
)

WORDS = "the cat dog sat ran on under a red blue mat house Then And".split()
FEW = Resampling(resamples=100, trials=200)


def damaged(texts, share, seed):
    """Texts with a share of their words replaced."""
    draw = random.Random(seed)
    return [
        " ".join(
            draw.choice(WORDS) if draw.random() < share else word
            for word in text.split()
        )
        for text in texts
    ]


@pytest.fixture(scope="module")
def references():
    draw = random.Random(1)
    return [" ".join(draw.choices(WORDS, k=7)) for _ in range(60)]


@pytest.fixture(scope="module")
def systems(references):
    return {
        "base": damaged(references, 0.3, 1),
        "alike": damaged(references, 0.3, 2),
        "worse": damaged(references, 0.7, 3),
    }


def of_sacrebleu(systems, references, kind, count):
    test = PairedTest(
        list(systems.items()),
        {"bleu": BLEU(force=True), "chrf": CHRF()},
        [references],
        kind,
        count,
    )
    return test()


def test_intervals_and_p_values_are_those_of_sacrebleu(
    systems, references, monkeypatch
):
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    compared = compare(systems, references, "en", resampling=FEW)
    signatures, bs = of_sacrebleu(systems, references, "bs", 100)
    _, ar = of_sacrebleu(systems, references, "ar", 200)
    assert compared.bleu_signature == str(signatures["BLEU"])
    assert compared.chrf_signature == str(signatures["chrF2"])
    assert "bs:100|seed:12345" in compared.bleu_signature
    names = [system.name for system in compared.systems]
    assert names == ["base", "alike", "worse"]
    for name, key in (("bleu", "BLEU"), ("chrf", "chrF2")):
        for index, system in enumerate(compared.systems):
            theirs = bs[key][index]
            assert getattr(system, name) == theirs.score
            low, high = getattr(system, f"{name}_interval")
            assert (low + high) / 2 == pytest.approx(theirs.mean)
            assert (high - low) / 2 == pytest.approx(theirs.ci)
            expected = {"bs": theirs.p_value, "ar": ar[key][index].p_value}
            if not index:
                expected = {}
            assert getattr(system, f"{name}_p_values") == expected
    alike, worse = (system.bleu_p_values for system in compared.systems[1:])
    assert min(alike.values()) > 0.05 > max(worse.values())


@pytest.mark.parametrize("seed", ["none", "7", None])
def test_environment_has_no_say(systems, references, monkeypatch, seed):
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    expected = compare(systems, references, "en", resampling=FEW)
    if seed:
        monkeypatch.setenv("SACREBLEU_SEED", seed)
    assert compare(systems, references, "en", resampling=FEW) == expected
    import os

    assert os.environ.get("SACREBLEU_SEED") == seed


def test_equal_systems_do_not_differ(systems, references):
    """sacreBLEU gives them its smallest p-value."""
    same = {"a": systems["base"], "b": list(systems["base"])}
    _, b = compare(same, references, "en", resampling=FEW).systems
    assert b.bleu_p_values == b.chrf_p_values == {"bs": 1.0, "ar": 1.0}
    _, results = of_sacrebleu(same, references, "ar", 200)
    assert results["BLEU"][1].p_value == 1 / 201


@pytest.mark.parametrize(("changed", "least"), [(1, 1.0), (3, 0.25)])
def test_few_sentences_that_differ_prove_little(references, changed, least):
    """Of k, swapping none or all leaves the difference, of 2^k ways."""
    texts = damaged(references, 0.3, 1)
    others = [text.lower() + " mat" for text in texts[:changed]]
    systems = {"a": texts, "b": [*others, *texts[changed:]]}
    other = compare(systems, references, "en", resampling=FEW).systems[1]
    for p_values in (other.bleu_p_values, other.chrf_p_values):
        assert p_values.keys() == {"bs", "ar"}
        assert min(p_values.values()) >= least


def test_without_resamples_there_is_no_interval(systems, references):
    """And tests may be chosen."""
    none = dataclasses.replace(FEW, resamples=0)
    compared = compare(systems, references, "en", tests=["ar"], resampling=none)
    assert compared.systems[0].bleu_interval is None
    assert set(compared.systems[1].bleu_p_values) == {"ar"}
    assert compared.systems[1].bleu_p_values["ar"] > 0
    assert json.loads(json.dumps(dataclasses.asdict(compared)))["resampling"]
    assert "seed" not in compared.bleu_signature


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"tokenize": "flores200"}, "'flores200'.*Accepted: none, zh, 13a"),
        ({"tokenize": "moses"}, "no tokenizer 'moses'"),
        ({"tests": ["t"]}, "no test 't'. Accepted: bs, ar"),
    ],
)
def test_what_is_unknown_is_refused(
    systems, references, options, says, monkeypatch, tmp_path
):
    from keras_transformer.evaluation import bleu_chrf

    monkeypatch.setattr(bleu_chrf, "SACREBLEU_DIR", tmp_path)
    with pytest.raises(InputError, match=says):
        compare(systems, references, "en", **options)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"seed": 0}, "seed must be 1 or more"),
        ({"resamples": 3}, "resamples must be 0, or 40 or more"),
        ({"trials": 0}, "trials must be 40 or more"),
    ],
)
def test_settings_that_decide_nothing_are_refused(values, says):
    with pytest.raises(InputError, match=says):
        Resampling(**values)


def test_what_does_not_fit_in_memory_is_refused():
    settings = Resampling()
    settings.check(40_000, ["bs", "ar"])
    assert settings.fits(40_000)
    assert not settings.fits(40_001)
    with pytest.raises(InputError, match="Accepted: 400 or less"):
        settings.check(100_000)
    with pytest.raises(InputError, match="trials .* Accepted: 4,000 or less"):
        dataclasses.replace(settings, resamples=400).check(100_000, ["ar"])
    with pytest.raises(InputError, match="at most 1,000,000 sentences"):
        settings.check(1_000_001)
    with pytest.raises(InputError, match="bootstrap needs resamples"):
        Resampling(resamples=0).check(3, ["bs"])


def test_texts_have_to_match():
    with pytest.raises(InputError, match="1 translations, 2 references"):
        compare({"a": ["x"]}, ["x", "y"], "en")
    with pytest.raises(InputError, match="0 systems"):
        compare({}, [], "en")


def test_figures_as_text():
    assert score_text(28.94, None) == "28.9"
    assert score_text(28.94, (27.5, 30.26)) == "28.9 (27.5 to 30.3)"
    assert p_value_text(0.0001) == "< 0.001"
    assert p_value_text(0.23456) == "0.235"
