"""`evaluate`: scores with intervals, and comparisons that decide."""

import gzip
import json
import os
import re
import shutil

import pytest
import sacrebleu

from keras_transformer.data.corpus import read_pairs
from tests.cli.conftest import call

FEW = ("--paired-bs-n=60", "--beam-size=1")
FEW_TRIALS = "--paired-ar-n=60"


@pytest.fixture
def pairs(corpus, write):
    """Pairs that the run of few steps translates into something."""
    lines = (corpus / "dev.tsv").read_text("utf-8").splitlines()
    return write("test.tsv", lines[:12])


@pytest.fixture
def evaluate(run, pairs, succeed):
    """Runs the command; the JSON object that it prints."""

    def evaluate(*options):
        words = ["evaluate", "--run", run, "--input", pairs, "--json"]
        few = [*FEW, *([FEW_TRIALS] if "--against" in options else [])]
        return json.loads(succeed(*words, *few, *options).out)

    return evaluate


def references(pairs):
    return [target for _, target in read_pairs([pairs])]


@pytest.fixture
def perfect(pairs, write):
    return write("perfect.txt", references(pairs))


@pytest.mark.medium
def test_truncated_pairs_are_counted(run, write, tmp_path, succeed):
    long = "one " * 40
    path = write("long.tsv", ["one\ttwo", f"{long}\ttwo", f"one\t{long}"])
    words = ["evaluate", "--run", run, "--input", path, *FEW]
    report = tmp_path / "report.html"
    out, err = succeed(*words, "--json", "--report", report)
    assert json.loads(out)["truncated"] == 2
    assert "warning: 2 truncated pairs: more tokens" in err
    assert re.search(
        r"Truncated sentences: <[^>]+>2<", report.read_text("utf-8")
    )
    # All, where no translation may end.
    out, _ = succeed(*words, "--set=decoding.max_length=1")
    assert re.search(r"truncated +3\n", out)


@pytest.mark.medium
def test_documents_are_translated_as_one_text(run, succeed, write):
    pairs = ["One two.\tTwo one.", "Three.\tThree.", "", "Four.\tFour.", ""]
    path = write("test.tsv", [*pairs, "five?\tfive?"])
    words = ["evaluate", "--run", run, "--input", path, *FEW, "--documents"]
    values = json.loads(succeed(*words, "--json").out)
    assert values["sentences"] == 4
    assert values["documents"]["sentences"] == 3
    systems = values["documents"]["systems"]
    names = [one["name"] for one in systems]
    assert names == ["sentence by sentence", "as one text"]
    # The texts are split where the lines end.
    assert systems[0]["chrf"] == pytest.approx(systems[1]["chrf"])
    out = succeed(*words).out
    assert re.search(r"3 documents +BLEU +chrF\nsentence by sentence +", out)


def test_scores_are_printed_where_a_file_cannot_be_written(
    run, pairs, capsys, monkeypatch, tmp_path
):
    words = ["evaluate", "--run", run, "--input", pairs, *FEW]
    capsys.readouterr()
    call(*words, "--output=/dev/full", status=2)
    out, err = capsys.readouterr()
    assert re.search(r"\nbleu +", out)
    assert "error: No space left on device" in err
    monkeypatch.setattr(os, "access", lambda *_: False)
    call(*words, "--output", tmp_path / "out.txt", status=2)
    out, err = capsys.readouterr()
    assert not out
    assert "out.txt: its folder can't be written to" in err


def test_scores_have_intervals_with_their_settings(evaluate):
    values = evaluate()
    low, high = values["chrf_interval"]
    assert low <= values["chrf"] <= high
    assert low < high
    settings = {"resamples": 60, "trials": 10_000, "seed": 12345}
    assert values["resampling"] == settings
    assert "bs:60|seed:12345" in values["chrf_signature"]
    assert "against" not in values


@pytest.mark.medium
def test_against_files_and_runs(
    evaluate, perfect, run, tmp_path, other_run, pairs
):
    out = tmp_path / "out.txt"
    evaluate("--output", out)
    values = evaluate("--against", perfect, out, "--against", other_run)
    perfect_one, equal, other = values["against"]
    names = [one["name"] for one in values["against"]]
    assert names == [*map(str, (perfect, out, other_run))]
    assert perfect_one["bleu"] == pytest.approx(100)
    assert set(perfect_one["bleu_p_values"]) == {"bs", "ar"}
    assert perfect_one["chrf_p_values"]["ar"] < 0.05
    assert equal["chrf"] == values["chrf"]
    assert equal["chrf_interval"] == values["chrf_interval"]
    assert equal["chrf_p_values"] == {"bs": 1.0, "ar": 1.0}
    # The other run is measured as when it's evaluated by itself.
    words = ["--run", other_run, "--input", pairs, *FEW]
    call("evaluate", *words, "--output", tmp_path / "other.txt")
    alone = (tmp_path / "other.txt").read_text("utf-8").splitlines()
    chrf = sacrebleu.corpus_chrf(alone, [references(pairs)])
    assert other["chrf"] == chrf.score


@pytest.mark.medium
def test_printed_as_a_table(run, pairs, perfect, succeed):
    words = ["evaluate", "--run", run, "--input", pairs, *FEW]
    assert "\nresampling      60 resamples" in succeed(*words).out
    out = succeed(*words, FEW_TRIALS, "--against", perfect).out
    number = r"\d+\.\d\d \(\S+ to \S+\)"
    assert re.search(rf"^chrf +{number}$", out, re.M)
    assert "60 resamples, seed 12345" in out
    assert re.search(r"^system +BLEU +p \(bs\) +p \(ar\) +chrF", out, re.M)
    line = rf"^{re.escape(str(perfect))} +100.00 \(.*\) +\S+ +\S+ +100.00"
    assert re.search(line, out, re.M)
    assert "ar: paired approximate randomisation, 60 trials" in out


def test_tokenizer_and_case_as_reported(evaluate, write, pairs):
    upper = write("upper.txt", [text.upper() for text in references(pairs)])
    options = ["--tokenize=none", "--lowercase", "--seed=5"]
    values = evaluate("--against", upper, *options)
    assert "seed:5|" in values["chrf_signature"]
    assert set(values["against"][0]["bleu_p_values"]) == {"bs", "ar"}
    assert "case:lc" in values["bleu_signature"]
    assert "tok:none" in values["bleu_signature"]
    assert values["against"][0]["bleu"] == pytest.approx(100)


def test_what_does_not_fit_is_refused_before_translating(
    run, pairs, perfect, write, tmp_path, refuses
):
    words = ["evaluate", "--run", run, "--input", pairs]
    short = write("short.txt", "one line\n")
    no_average = shutil.copytree(run, tmp_path / "no-average")
    (no_average / "weights" / "last.weights.h5").unlink()
    missing = tmp_path / "no folder" / "report.html"
    report = tmp_path / "report.html"
    for options, *says in (
        (
            ["--weights=last", "--against", no_average],
            *(no_average, "no such weights"),
        ),
        (["--against", short], short, "1 lines", "each of the 12 pairs"),
        (["--against", "no such"], "no such"),
        (["--against", tmp_path], tmp_path, "not a run"),
        (["--against", perfect, perfect], "given 2 times"),
        (["--against", run], run, "given 2 times"),
        (["--against", f"{run}/"], run, "given 2 times"),
        (["--report", missing], missing, "no such folder"),
        (["--output", missing], missing, "no such folder"),
        (["--report", report, "--output", report], report, "is written, too"),
        ([FEW_TRIALS], "--paired-ar-n goes with --against"),
        (["--tokenize=moses"], "'moses'", "none, zh, 13a, intl, char"),
        (["--seed=0"], "seed must be 1 or more"),
        (
            ["--against", perfect, "--paired-ar-n=40000000"],
            "Accepted: 33,333,333 or less",
        ),
    ):
        refuses(*words, *options, says=says)
    for read in (pairs, perfect):  # which stay as they are
        before = read.read_bytes()
        output = ["--output", read.parent / ".." / read.parent.name / read.name]
        says = [read.name, "is read, too"]
        refuses(*words, "--against", perfect, *output, says=says)
        assert read.read_bytes() == before


@pytest.fixture
def into(run, tmp_path):
    """Copies the run, as if it translated into another language."""

    def copy(language):
        config = shutil.copytree(run, tmp_path / language) / "config.yaml"
        new = f"target_language: {language}"
        text = config.read_text().replace("target_language: en", new)
        config.write_text(text)
        return config.parent

    return copy


def test_others_have_to_be_into_the_same_language(run, pairs, into, refuses):
    """Which may have another code."""
    words = ["evaluate", "--run", run, "--input", pairs, "--against"]
    says = ["fr: a run into fr. Accepted: one into en"]
    refuses(*words, into("eng_Latn"), into("fr"), says=says)


def test_other_translations_are_simplified_as_references_are(
    into, write, succeed
):
    pairs = write("pairs.tsv", ["a b\t她说汉语。", "c d\t他們說漢語。"])
    file = write("traditional.txt", ["她說漢語。", "他们说汉语。"])
    words = ["--run", into("zh"), "--input", pairs, "--against", file]
    out = succeed("evaluate", *words, "--json", *FEW, FEW_TRIALS).out
    (against,) = json.loads(out)["against"]
    assert against["chrf"] == pytest.approx(100)


def test_files_have_the_same_numbers_and_are_gzip_if_named_so(
    evaluate, run, pairs, perfect, tmp_path
):
    other, out, page = (tmp_path / f"{name}.gz" for name in "abc")
    other.write_bytes(gzip.compress(perfect.read_bytes()))
    values = evaluate("--against", other, "--output", out, "--report", page)
    assert values["against"][0]["bleu"] == pytest.approx(100)
    lines = gzip.decompress(out.read_bytes()).decode().splitlines()
    assert len(lines) == 12
    chrf = sacrebleu.corpus_chrf(lines, [references(pairs)])
    assert values["chrf"] == chrf.score
    text = gzip.decompress(page.read_bytes()).decode()
    assert text.startswith("<!doctype html>")
    low, high = values["chrf_interval"]
    assert f">{values['chrf']:.1f} ({low:.1f} … {high:.1f})<" in text
    assert f">{run}</bdi>" in text
    assert f">{other}</bdi>" in text


def test_pairs_with_a_blank_side_do_not_count(
    evaluate, pairs, perfect, write, tmp_path
):
    """Also in files of translations; --output has a line for each pair."""
    rows = pairs.read_text("utf-8").splitlines()
    blank = {0: "\tzero", 3: "one\t", 4: "", 14: "\u200b\tfive"}
    lines = perfect.read_text("utf-8").splitlines()
    for place, row in blank.items():
        rows.insert(place, row)
        lines.insert(place, "seven")
    write(pairs.name, rows)
    write(perfect.name, lines)
    out = tmp_path / "out.txt"
    found = evaluate("--against", perfect, "--output", out)
    assert (found["blank_pairs"], found["sentences"]) == (4, 12)
    assert found["against"][0]["bleu"] == pytest.approx(100)
    written = out.read_text("utf-8").split("\n")
    empty = [n for n, line in enumerate(written) if not line]
    assert empty == [0, 3, 4, 14, 16]
