"""Exports in 8 bits: what is checked, described, and refused."""

import dataclasses

import pytest

from keras_transformer.cli.main import main
from keras_transformer.contract import layout
from keras_transformer.exporting.writer import precision, saved_model
from keras_transformer.exporting.writer.precision import (
    activation_limits,
    choose_precision,
)
from keras_transformer.exporting.writer.saved_model import export_run
from keras_transformer.inference import quantization
from keras_transformer.plots.sentence import (
    sentence_attention,
    sentence_beam_tree,
)
from keras_transformer.system import machine
from keras_transformer.system.files import read_json
from keras_transformer.system.machine import multiplies_int8
from tests.exporting.conftest import SENTENCES

needs_vnni = pytest.mark.skipif(
    not multiplies_int8(), reason="the processor has no VNNI"
)


def description(folder):
    return read_json(folder / layout.DESCRIPTION)


def exporting(run, folder):
    return ["export", "--run", str(run.folder), "--out", str(folder / "m")]


@pytest.fixture
def dev(tmp_path):
    path = tmp_path / "dev.tsv"
    lines = ["\t".join(pair) for pair in SENTENCES]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@needs_vnni
@pytest.mark.slow
@pytest.mark.parametrize("static", [False, True])
def test_every_check_is_passed(static, run, model, tmp_path):
    decoding = dataclasses.replace(run.config.decoding, precision="int8")
    limits = None
    if static:
        limits = activation_limits(run, model, SENTENCES, decoding)
    report = export_run(
        run, tmp_path, decoding=decoding, limits=limits, warmup_texts=["A b."]
    )
    assert {check.passed for check in report.checks} == {True}
    told = description(report.path)
    assert told["activations"] == ("static" if static else "dynamic")
    assert told.get("limits") == limits
    assert (
        b"_QuantizedMatMul" in (report.path / layout.SAVED_MODEL).read_bytes()
    )


@pytest.mark.medium
@needs_vnni
def test_int8_is_published_beside_float32(
    run, tmp_path, dev, monkeypatch, capsys
):
    monkeypatch.setattr(saved_model, "check_in_fresh_process", lambda path: ())
    assert main(exporting(run, tmp_path)) == 0
    words = ["--precision=int8", "--dev", str(dev)]
    assert main([*exporting(run, tmp_path), *words]) == 0
    capsys.readouterr()
    assert description(tmp_path / "m/1")["precision"] == "float32"
    told = description(tmp_path / "m/2")
    assert told["precision"] == "int8"
    assert told["activations"] == "static"
    assert len(told["limits"]) == 12
    assert told["needs"]["operation"] == "_QuantizedMatMul"
    assert told["needs"]["instructions"] == ["AVX512_VNNI", "AVX_VNNI"]
    data = "variables/variables.data-00000-of-00001"
    full, small = ((tmp_path / "m" / v / data).stat().st_size for v in "12")
    # The embeddings, which stay as they are, are most of a model so small.
    assert small < 0.7 * full
    assert main(["info", str(tmp_path / "m/2")]) == 0
    assert "AVX512_VNNI" in capsys.readouterr().out
    words = ["--saved-model", str(tmp_path / "m"), "--input", str(dev)]
    assert main(["translate", *words, "--format=lines"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(SENTENCES)


@needs_vnni
def test_a_run_is_translated_in_int8(run, dev, capsys):
    words = ["translate", "--run", str(run.folder), "--input", str(dev)]
    words += ["--format=lines", "--set", "decoding.precision=int8"]
    assert main(words) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(SENTENCES)


def test_a_processor_without_avx2_is_refused(
    run, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(quantization, "has_avx2", lambda: False)
    assert main([*exporting(run, tmp_path), "--precision=int8"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "needs an x86-64 processor with AVX2" in line
    assert not (tmp_path / "m").exists()


@pytest.mark.medium
def test_a_processor_without_vnni_is_a_warning(
    run, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(
        machine, "_processor_has", lambda flags: "avx2" in flags
    )
    monkeypatch.setattr(saved_model, "check_in_fresh_process", lambda path: ())
    assert main([*exporting(run, tmp_path), "--precision=int8"]) == 0
    said = capsys.readouterr().err
    assert "warning: this processor has neither AVX512_VNNI nor" in said
    assert description(tmp_path / "m/1")["precision"] == "int8"


@pytest.fixture
def measured(monkeypatch):
    """Sets what translating in each precision takes, and what it gives."""

    def set_to(**by_name):
        monkeypatch.setattr(
            precision,
            "_measure",
            lambda run, model, columns, decoding, names, *rest: {
                name: precision.Measurement(*by_name[name]) for name in names
            },
        )
        monkeypatch.setattr(
            precision, "activation_limits", lambda *rest: {"logits": 1.0}
        )
        monkeypatch.setattr(precision, "require_int8", lambda: None)

    return set_to


@pytest.mark.parametrize(
    ("half", "small", "chosen"),
    [
        ((30.0, 6.0, 1.6), (29.9, 4.0, 2.5), "int8"),
        ((30.0, 6.0, 1.6), (29.7, 4.0, 2.5), "bfloat16"),
        ((29.7, 6.0, 1.6), (29.7, 4.0, 2.5), "float32"),
        ((31.0, 9.9, 1.01), (30.0, 11.0, 0.9), "float32"),
    ],
)
def test_the_fastest_that_is_as_good_is_chosen(
    half, small, chosen, run, measured
):
    measured(float32=(30.0, 10.0, 1.0), bfloat16=half, int8=small)
    choice = choose_precision(run, SENTENCES)
    assert choice.precision == chosen
    assert (choice.limits is not None) == (chosen == "int8")
    assert choice.to_dict()["measured"]["int8"]["bleu"] == small[0]
    assert "limits" not in choice.to_dict()


@pytest.mark.medium
@pytest.mark.parametrize("has_avx2", [True, False])
def test_without_vnni_int8_is_measured_where_it_works(
    has_avx2, run, monkeypatch
):
    monkeypatch.setattr(machine, "_processor_has", lambda flags: False)
    monkeypatch.setattr(quantization, "has_avx2", lambda: has_avx2)
    choice = choose_precision(run, SENTENCES[:3])
    names = ["float32", "bfloat16", *["int8"] * has_avx2]
    assert list(choice.measured) == names
    assert choice.measured["float32"].speed == 1
    assert choice.reason.endswith("processor with AVX2") != has_avx2
    assert "Accepted" not in choice.reason


def test_limits_are_of_pairs_evenly_spaced(run, model, monkeypatch):
    monkeypatch.setattr(precision, "_CALIBRATED", 4)
    every = activation_limits(run, model, SENTENCES, run.config.decoding)
    chosen = activation_limits(run, model, SENTENCES[::3], run.config.decoding)
    assert every == chosen


@needs_vnni
@pytest.mark.parametrize("look", [sentence_beam_tree, sentence_attention])
def test_pictures_of_int8_are_drawn_in_float32(look, run, model):
    """They look at a search outside of a graph, where int8 can't be."""
    decoding = dataclasses.replace(run.config.decoding, precision="int8")
    full = dataclasses.replace(decoding, precision="float32")
    seen, expected = (
        look(run, model, "It is raining.", decoding=config)
        for config in (decoding, full)
    )
    assert repr(seen) == repr(expected)
