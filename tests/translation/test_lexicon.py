"""What pairs of sentences say about tokens, and translating by it."""

import itertools
import json
import shutil
import types

import numpy as np
import pytest
from nltk.translate import AlignedSent, IBMModel1

from keras_transformer import evaluate, export, load
from keras_transformer.config import Config, DecodingConfig
from keras_transformer.constants import PAD_ID, SPECIAL_TOKENS
from keras_transformer.data import word_alignment
from keras_transformer.data.word_alignment import link, model_1
from keras_transformer.errors import InputError
from keras_transformer.exporting.writer import precision, saved_model
from keras_transformer.system.files import read_json
from keras_transformer.text.word import WordTokenizer
from keras_transformer.translation import lexicon as lexica
from keras_transformer.translation import trained_run
from keras_transformer.translation.lexicon import learn_lexicon, lexicon_of
from keras_transformer.translation.workers import RunTranslatorFactory
from tests.cli.conftest import call
from tests.toy_models import DIGITS, pairs
from tests.toy_runs import prepare_words, untrained_run

RUN = types.SimpleNamespace(config=Config())  # of no languages
ENDLESS = "/dev/zero", "/dev/zero,/dev/zero"
PAIRS = [
    ("the house", "la maison"),
    ("the blue house", "la maison bleue"),
    ("the flower", "la fleur"),
    ("a blue flower", "une fleur bleue"),
    ("ada", "ada"),
    ("", "la"),
    ("a", ""),
]


def tokenizers(pairs):
    columns = zip(*pairs, strict=True)
    words = [sorted(set(" ".join(column).split())) for column in columns]
    return [WordTokenizer([*SPECIAL_TOKENS, *side]) for side in words]


def table(pairs, **options):
    """The lexicon as words."""
    source, target = tokenizers(pairs)
    lexicon = learn_lexicon(pairs, source, target, **options)
    names = target.tokens()
    rows = {
        word: [names[i] for i in row if i != PAD_ID]
        for word, row in zip(source.tokens(), lexicon.candidates, strict=True)
    }
    return rows, [names[i] for i in lexicon.frequent]


def test_the_most_probable_come_first():
    rows, frequent = table(PAIRS, candidates=2, frequent=2)
    assert rows["the"][0] == "la"
    assert rows["house"][0] == "maison"
    assert rows["flower"][0] == "fleur"
    assert rows["blue"][0] == "bleue"
    assert all(len(set(row)) <= 2 for row in rows.values())
    assert [rows[token] for token in SPECIAL_TOKENS] == [[]] * 4
    assert frequent == ["la", "bleue"]


def test_what_is_spelled_alike_is_a_candidate():
    rows, _ = table([*PAIRS, ("1984", "la"), ("a", "1984")], candidates=1)
    assert rows["1984"] == ["la", "1984"]


def ids_of(pairs):
    sides = zip(*pairs, strict=True)
    return [
        lexica._encode(list(side), tokenizer)
        for side, tokenizer in zip(sides, tokenizers(pairs), strict=True)
    ]


def test_probabilities_are_those_of_nltk():
    links = link(*ids_of(PAIRS))
    actual = model_1(links)
    source, target = (tokenizer.tokens() for tokenizer in tokenizers(PAIRS))
    aligned = [AlignedSent(t.split(), s.split()) for s, t in PAIRS if t]
    expected = IBMModel1(aligned, word_alignment._ITERATIONS).translation_table
    for s, t, probability in zip(
        links.sources, links.targets, actual, strict=True
    ):
        word = None if s < 0 else source[s]
        assert probability == pytest.approx(expected[target[t]][word], abs=1e-6)
    sums = np.bincount(links.sources + 1, actual)
    np.testing.assert_allclose(sums[sums > 0], 1)


def test_of_very_many_pairs_some_are_taken(monkeypatch):
    many = list(pairs(300))
    sides = ids_of(many)
    assert len(link(*sides).types) > 500
    monkeypatch.setattr(word_alignment, "MOST_LINKS", 500)
    assert len(link(*sides).types) <= 500
    rows, _ = table(many, candidates=2)
    assert all(rows[digit][0] == digit for digit in DIGITS)


def test_nothing_to_learn_from():
    for given in ([], [("", ""), ("", "")], [("a", "")]):
        with pytest.raises(InputError, match="needs pairs of sentences"):
            learn_lexicon(given, *tokenizers(PAIRS))


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """The folder of a run with random weights and its corpus; what is moved."""
    folder = tmp_path_factory.mktemp("shortlist")
    lines = [f"{source}\t{target}\n" for source, target in pairs(60)]
    prepare_words(folder, lines, 0.2)
    untrained_run(folder / "run", folder / "data")
    # A corpus in which a digit becomes the next one: what it suggests isn't
    # what the model says by itself.
    moved = {d: DIGITS[(i + 1) % 6] for i, d in enumerate(DIGITS)}
    lines = [f"{digit}\t{moved[digit]}\n" for digit in DIGITS]
    (folder / "moved.tsv").write_text("".join(lines))
    return folder, moved


def said(texts, translations, moved):
    """Whether all words are copies or what the corpus suggests."""
    for text, translation in zip(texts, translations, strict=True):
        suggested = {moved[word] for word in text.split()}
        known = set(translation.split()) - {"⁇"}
        yield known <= suggested | set(text.split())


@pytest.mark.medium
def test_translate_and_evaluate(toy, capsys):
    folder, _ = toy
    run, dev = folder / "run", folder / "data/dev.tsv"
    sources = [line.split("\t")[0] for line in dev.read_text().splitlines()]
    opened = load(run, shortlist=folder / "train.tsv")
    expected = opened.translate(sources)
    options = ["--run", run, "--shortlist", folder / "train.tsv"]
    capsys.readouterr()
    call("translate", *options, "--workers=1", *sources)
    assert capsys.readouterr().out.splitlines() == expected
    call("evaluate", *options, "--json", "--input", dev)
    figures = json.loads(capsys.readouterr().out)
    measured = evaluate(opened, [dev])
    assert measured.texts.translations == expected
    assert figures["bleu"] == measured.bleu
    assert figures["chrf"] == measured.chrf > 0


@pytest.mark.medium
def test_only_what_is_suggested_is_said(toy, monkeypatch):
    folder, moved = toy
    monkeypatch.setattr(
        "keras_transformer.translation.lexicon.learn_lexicon",
        lambda *given: learn_lexicon(*given, candidates=1, frequent=0),
    )
    sources = [source for source, _ in pairs(60)]
    # Each says two words or more that are known.
    decoding = DecodingConfig(min_length=2, banned_tokens=["<unk>"])
    run, corpus = folder / "run", folder / "moved.tsv"
    opened = load(run, decoding=decoding, shortlist=corpus)
    assert all(said(sources, opened.translate(sources), moved))
    free = load(run, decoding=decoding).translate(sources)
    assert not all(said(sources, free, moved))


@pytest.mark.slow
def test_an_export_has_its_shortlist(toy, tmp_path, capsys):
    folder, _ = toy
    run, corpus = folder / "run", folder / "train.tsv"
    out = tmp_path / "model"
    call("export", "--run", run, "--shortlist", corpus, "--out", out)
    sources = [source for source, _ in pairs(60)]
    expected = load(run, shortlist=corpus).translate(sources)
    assert load(out).translate(sources) == expected
    described = read_json(out / "1/assets.extra/keras_transformer.json")
    assert described["shortlist"]["candidates"] == 31
    assert described["shortlist"]["frequent"] == 6
    capsys.readouterr()
    call("info", out / "1")
    assert "shortlist" in capsys.readouterr().out


@pytest.mark.medium
def test_the_run_that_is_compared_has_the_same_shortlist(
    toy, tmp_path, monkeypatch, capsys
):
    folder, _ = toy
    other = shutil.copytree(folder / "run", tmp_path / "other")
    given = []
    real = trained_run.lexicon_of

    def note(run, pairs):
        given.append((run.folder, pairs))
        return real(run, pairs)

    monkeypatch.setattr(trained_run, "lexicon_of", note)
    run, pairs = folder / "run", str(folder / "train.tsv")
    words = ["--run", run, "--against", other, "--shortlist", pairs]
    few = ["--paired-bs-n=40", "--paired-ar-n=40"]
    call("evaluate", *words, "--input", pairs, *few)
    assert given == [(run, pairs), (other, pairs)]


def test_a_shortlist_is_measured_where_a_precision_is_chosen(
    toy, tmp_path, monkeypatch
):
    folder, _ = toy
    given = []

    def note(run, model, config, **options):
        given.append(options["lexicon"])
        raise InputError("enough")

    monkeypatch.setattr(precision.Translator, "from_run", note)
    pairs = folder / "train.tsv"
    options = {"precision": "auto", "dev": pairs, "shortlist": pairs}
    with pytest.raises(InputError, match="enough"):
        export(load(folder / "run"), tmp_path / "model", **options)
    assert given[0] is not None


def test_an_export_is_of_the_search_that_was_opened(toy, tmp_path, monkeypatch):
    folder, _ = toy
    given = []

    def note(run, out, **options):
        given.append(options)
        raise InputError("enough")

    monkeypatch.setattr(saved_model, "export_run", note)
    pairs = folder / "train.tsv"
    greedy = DecodingConfig(beam_size=1)
    run = load(
        folder / "run", weights="last", decoding=greedy, shortlist=[pairs]
    )
    with pytest.raises(InputError, match="enough"):
        export(run, tmp_path / "model")
    (options,) = given
    assert options["decoding"].beam_size == 1
    assert options["weights"] == "last"
    assert options["lexicon"] is not None
    with pytest.raises(InputError, match="shortlist goes with format"):
        export(run, tmp_path / "model", format="keras")


def test_the_fingerprint_is_of_what_an_address_holds(toy):
    pytest.importorskip("pyarrow")  # of the extra [spark]
    folder, _ = toy
    decoding = DecodingConfig()
    path = folder / "train.tsv"
    of_path, of_address = (
        RunTranslatorFactory(
            str(folder / "run"), "best", decoding, shortlist=spec
        ).fingerprint()
        for spec in (str(path), path.as_uri())
    )
    assert of_path == of_address


def test_an_ensemble_has_none(toy, capsys):
    folder, _ = toy
    run, pairs = folder / "run", folder / "train.tsv"
    words = ["--run", run, "--ensemble", run, "--shortlist", pairs, "one"]
    call("translate", *words, status=2)
    assert "a shortlist is for one run" in capsys.readouterr().err


def test_pairs_without_end_are_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(lexica, "_MOST_PAIRS", 100)
    path = tmp_path / "pairs.tsv"
    path.write_text("a\tb\n" * 101)
    endless = itertools.repeat(("a", "b"))
    for given, name in ((endless, "pairs"), (str(path), "pairs.tsv")):
        with pytest.raises(InputError, match=f"{name}: more than 100 pairs"):
            lexicon_of(RUN, given)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        *((spec, "/dev/zero, line 1: more than") for spec in ENDLESS),
        ("missing.tsv", "missing.tsv"),
        ("bad.tsv", "bad.tsv, line 1"),
    ],
)
def test_files_that_are_none(tmp_path, monkeypatch, spec, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.tsv").write_text("one two\n")
    with pytest.raises((InputError, FileNotFoundError), match=says):
        lexicon_of(RUN, spec)
