"""Several models that translate as one."""

import re
import shutil

import numpy as np
import pytest
import tensorflow as tf
import yaml

from keras_transformer import distill, evaluate, load
from keras_transformer.config import DecodingConfig
from keras_transformer.data.prepared import PreparedData
from keras_transformer.errors import InputError
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.search.constraints import SentenceConstraints
from keras_transformer.search.from_config import search
from keras_transformer.search.scoring import score_translations
from keras_transformer.system.files import read_json
from keras_transformer.system.machine import multiplies_int8
from keras_transformer.training.run import Run
from keras_transformer.translation.ensemble import (
    Ensemble,
    mean_log_probabilities,
)
from keras_transformer.translation.request import Hypothesis, Translation
from keras_transformer.translation.workers import RunTranslatorFactory
from tests.cli.conftest import call
from tests.fake_models import random_sources
from tests.toy_models import by_full_passes, check_equal, small_transformer
from tests.toy_runs import prepare_words, untrained_run

CONFIG = DecodingConfig(beam_size=4, length_penalty=0.6)
SOURCE, LENGTHS = random_sources(3, rows=12, longest=9)
SENTENCES = SentenceConstraints(2 * LENGTHS + 2)


@pytest.fixture(scope="module")
def models():
    """Of two shapes, as the vocabulary alone has to be the same."""
    return small_transformer("pre"), small_transformer("post, tied", seed=2)


def ensemble_of(models, **options):
    return Ensemble([IncrementalTransformer(m, **options) for m in models])


@pytest.mark.medium
@pytest.mark.parametrize("beam_size", [1, 4])
def test_searches_by_the_mean_of_the_probabilities(models, beam_size):
    config = DecodingConfig(beam_size=beam_size, length_penalty=0.6)

    def mean(features, training):
        each = [model(features, training=training) for model in models]
        probabilities = sum(map(tf.nn.softmax, each)) / len(each)
        return tf.math.log(probabilities)

    expected = search(by_full_passes(mean), SOURCE, SENTENCES, config)
    actual = search(ensemble_of(models), SOURCE, SENTENCES, config)
    check_equal(actual, expected)
    alone = search(IncrementalTransformer(models[0]), SOURCE, SENTENCES, config)
    assert not np.array_equal(actual.ids, alone.ids)


def test_a_model_twice_is_the_model(models):
    twice = ensemble_of([models[0], models[0]])
    expected = search(
        IncrementalTransformer(models[0]), SOURCE, SENTENCES, CONFIG
    )
    check_equal(search(twice, SOURCE, SENTENCES, CONFIG), expected)


def test_scores_and_attention_are_means(models):
    together = ensemble_of(models, align=True)
    result = search(together, SOURCE, SENTENCES, CONFIG, num_hypotheses=1)
    scores = score_translations(together, SOURCE, result.ids[:, 0])
    np.testing.assert_allclose(
        scores.log_probabilities, result.log_probabilities[:, 0], atol=1e-4
    )
    each = [
        score_translations(
            IncrementalTransformer(model, align=True), SOURCE, result.ids[:, 0]
        ).attention
        for model in models
    ]
    np.testing.assert_allclose(scores.attention, sum(each) / 2, atol=1e-5)


def test_probabilities_that_float32_has_not():
    logits = tf.constant([[0.0, -300.0, 200.0]])
    mean = mean_log_probabilities([logits, logits])
    np.testing.assert_allclose(mean, [[-200.0, -500.0, 0.0]], rtol=1e-6)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Two runs that differ in their seed, with random weights; their data."""
    folder = tmp_path_factory.mktemp("ensemble")
    lines = [
        f"{a} {b} {c}\t{c} {b} {a}\n"
        for a in ("one", "two", "three")
        for b in ("four", "five")
        for c in ("six", "seven", "eight")
    ]
    prepare_words(folder, lines, 0.3)
    for seed in (1, 2):
        untrained_run(folder / f"run-{seed}", folder / "data", seed)
    return folder


@pytest.mark.medium
def test_evaluate_and_translate(runs, capsys):
    one, two = str(runs / "run-1"), str(runs / "run-2")
    dev = runs / "data/dev.tsv"
    pairs = [line.split("\t")[:2] for line in dev.read_text().splitlines()]
    alone = [evaluate(run, pairs) for run in (one, two)]
    both = evaluate(one, pairs, ensemble=[two])
    # The mean of probabilities is at least their geometric mean.
    mean = sum(result.cross_entropy for result in alone) / 2
    assert both.cross_entropy < mean
    assert both.cross_entropy != pytest.approx(alone[0].cross_entropy)
    sources = [source for source, _ in pairs]
    together = ["--run", one, "--ensemble", two]
    capsys.readouterr()
    call("translate", *together, "--workers=1", *sources)
    assert capsys.readouterr().out.splitlines() == both.texts.translations
    opened = load(one, ensemble=two)
    assert opened.translate(sources) == both.texts.translations
    assert evaluate(opened, pairs).cross_entropy == both.cross_entropy
    few = ["--paired-bs-n=40", "--paired-ar-n=40"]
    call("evaluate", *together, "--input", dev, "--against", one, *few)
    said = capsys.readouterr().out
    assert f"p of the difference to {one} + {two}" in said
    shown = re.search(r"^cross_entropy +(\S+)$", said, re.M)[1]
    assert shown == f"{both.cross_entropy:.4g}"
    assert shown != f"{alone[0].cross_entropy:.4g}"


def test_distill_names_its_teachers(runs, monkeypatch):
    one, two = str(runs / "run-1"), str(runs / "run-2")
    factories = []

    def scripted(factory):
        """Translates a source as itself."""
        factories.append(factory)
        return lambda lines: [
            Translation(line, [Hypothesis(line, 0.0, finished=True)])
            for line in lines
        ]

    monkeypatch.setattr(RunTranslatorFactory, "__call__", scripted)
    data = runs / "data"
    of_one = distill(one, data, runs / "of-1", workers=1)
    loaded = Run.load(one), PreparedData.load(data)  # and not their folders
    of_both = distill(*loaded, runs / "of-both", workers=1, ensemble=[two])
    assert [factory.ensemble for factory in factories] == [(), (two,)]
    teachers = [d.manifest["distilled"]["teacher"] for d in (of_one, of_both)]
    assert "ensemble" not in teachers[0]
    assert [run["run"] for run in teachers[1]["ensemble"]] == [two]
    assert teachers[0]["fingerprint"] != teachers[1]["fingerprint"]


@pytest.mark.slow
@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_an_export_translates_together(runs, tmp_path, precision):
    if precision == "int8" and not multiplies_int8():
        pytest.skip("this processor has no VNNI")
    one, two = (load(runs / f"run-{seed}") for seed in (1, 2))
    out = tmp_path / "model"
    words = ["--run", one.folder, "--ensemble", two.folder, "--out", out]
    call("export", *words, "--precision", precision)
    dev = (runs / "data/dev.tsv").read_text().splitlines()
    sources = [line.split("\t")[0] for line in dev]
    together = load(one.folder, ensemble=[two.folder])
    if precision == "float32":
        assert load(out).translate(sources) == together.translate(sources)
        assert together.translate(sources) != one.translate(sources)
    described = read_json(out / "1/assets.extra/keras_transformer.json")
    (other,) = described["ensemble"]
    assert other["folder"] == str(two.folder)
    members = sum(run.load_model().count_params() for run in (one, two))
    assert described["parameters"] == members


def test_an_export_of_an_ensemble_is_a_saved_model(runs, capsys):
    run, dev = runs / "run-1", runs / "data/dev.tsv"
    command = ["export", "--run", run, "--ensemble", run, "--out=x"]
    for options, says in (
        (["--format=keras"], "ensemble goes with format"),
        (["--precision=auto", "--dev", dev], "with an ensemble"),
    ):
        call(*command, *options, status=2)
        assert says in capsys.readouterr().err


def test_refuses_the_opposite_direction(runs, capsys):
    # A shared vocabulary has the same tokens on both sides.
    other = shutil.copytree(runs / "run-1", runs / "opposite")
    config = yaml.safe_load((other / "config.yaml").read_text())
    config["data"] |= {"source_language": "fr", "target_language": "en"}
    (other / "config.yaml").write_text(yaml.safe_dump(config))
    words = ["--run", runs / "run-1", "--ensemble", other]
    call("translate", *words, "a", status=2)
    assert "opposite: translates fr to en" in capsys.readouterr().err


@pytest.mark.medium
@pytest.mark.parametrize("first", ["run-1", "short"])
def test_references_are_cut_at_the_positions_that_all_have(runs, first):
    short = runs / "short"
    if not short.exists():
        untrained_run(short, runs / "data", seed=3, max_length=6)
    (second,) = {"run-1", "short"} - {first}
    pairs = [("one four six", " ".join(["six"] * 9)), ("two", "two")]
    result = evaluate(runs / first, pairs, ensemble=[runs / second])
    assert result.tokens == 6 + 2


def test_refuses_runs_of_other_tokens(runs, capsys):
    one, other = runs / "run-1", runs / "of-others" / "other"
    other.parent.mkdir()
    prepare_words(other.parent, ["a b\tc d\n", "b a\td c\n", "b b\td d\n"], 0.4)
    untrained_run(other, other.parent / "data")
    says = "other: its source tokens are not those of"
    for command, *rest in (
        ["translate", "a"],
        ["evaluate", "--input", runs / "data/dev.tsv"],
    ):
        capsys.readouterr()
        call(command, "--run", one, "--ensemble", other, *rest, status=2)
        assert says in capsys.readouterr().err
    with pytest.raises(InputError, match=says):
        distill(one, runs / "data", runs / "no", ensemble=[other])
