"""The whole path as a user walks it."""

import io
import json

import pytest

from tests.cli.conftest import DATA_OPTIONS, TRAIN_OPTIONS


def feed(monkeypatch, data: bytes):
    # As that of a process, it can be looked into.
    buffer = io.BufferedReader(io.BytesIO(data))
    stream = io.TextIOWrapper(buffer, encoding="utf-8")
    monkeypatch.setattr("sys.stdin", stream)


@pytest.fixture
def prepare(corpus, tmp_path, succeed):
    """Prepares the corpus, or another, in a new folder."""

    def run(
        *options, train=corpus / "train.tsv", out="data", kinds=DATA_OPTIONS
    ):
        words = ["--train", train, "--out", tmp_path / out, *kinds]
        return succeed("prepare", *words, *options)

    return run


def test_prepare_warns_of_a_dev_set_that_is_in_training(corpus, prepare):
    said = prepare("--dev", corpus / "dev.tsv")
    assert "duplicate" in said.out
    assert "20 of 20 dev pairs" in said.err
    assert "--set data.remove_leaked=side" in said.err


@pytest.mark.usefixtures("untrained")
def test_too_few_pairs_for_a_model_are_told(
    run, data, prepare, succeed, tmp_path
):
    few = "training pairs are too few to learn a language pair from"
    said = prepare().err
    assert f"warning: 145 {few}" in said
    for command in ("prepare ... --tokenizers", "train ... --from"):
        assert command in said
    # Not every pair of languages has one.
    assert "If a model of your languages exists" in said
    # With the tokenizers of a model that is to be trained on, all is well.
    assert few not in prepare("--tokenizers", run, out="more", kinds=[]).err
    train = ["train", "--data", data, *TRAIN_OPTIONS, "--out"]
    assert few in succeed(*train, tmp_path / "run").err
    said = succeed(*train, tmp_path / "run2", "--from", run).err
    assert few not in said


@pytest.mark.filterwarnings("default")
def test_prepare_says_warnings_in_a_line_each(prepare, write):
    path = write("digits.tsv", [f"раз {n}\tone {n}" for n in range(9)])
    (first, _) = prepare(train=path).err.splitlines()
    assert first.startswith(f"warning: {path}: most sources are not in")


def test_train_is_repeated_with_weights_and_tags(write, tmp_path, succeed):
    def corpus(name, word, count):
        rows = [f"{word} {n} .\t{word} {n} !" for n in range(count)]
        return write(name, rows)

    real, odd = corpus("real.tsv", "a", 100), corpus("odd*2", "b", 50)
    made, out = corpus("made.tsv", "c", 300), tmp_path / "out"
    files = ["--train", f"{real}*2", odd, "--train", f"{made}*0.5#BT"]
    said = succeed("prepare", *files, "--out", out, *DATA_OPTIONS).out
    assert "real.tsv: 100 read, 100 left, times 2 are 200 in an epoch" in said
    assert "odd*2: 50 read, 50 left, times 1 are 50 in an epoch" in said
    assert "<BT> made.tsv: 300 read, 300 left, times 0.5 are" in said
    described = json.loads(succeed("info", out, "--json").out)
    corpora = described["report"]["corpora"]
    assert [corpus["weight"] for corpus in corpora] == [2, 1, 0.5]
    assert 120 < corpora[2]["trained"] < 180


def test_evaluate_gives_json_that_agrees_with_training(run, corpus, succeed):
    pairs = corpus / "dev.tsv"
    said = succeed("evaluate", "--run", run, "--input", pairs, "--json")
    values = json.loads(said.out)
    assert values["sentences"] == 20
    assert values["cross_entropy"] > 0
    assert "tok:13a" in values["bleu_signature"]
    assert values["beam_size"] == 4
    line = json.loads((run / "history.jsonl").read_text().splitlines()[0])
    assert values["cross_entropy"] == pytest.approx(
        line["val_cross_entropy"], rel=1e-4
    )


def test_translate_keeps_order_and_blank_lines(run, succeed, monkeypatch):
    def translated(text):
        feed(monkeypatch, text)
        return succeed("translate", "--run", run).out

    together = translated(b"one two\n\ntwo three four\r\n   \nfive").split("\n")
    assert together[-1] == ""
    assert len(together) == 6
    assert together[1] == together[3] == ""
    for place, line in ((0, b"one two"), (2, b"two three four")):
        assert translated(line) == together[place] + "\n"
    assert translated(b"") == ""


@pytest.mark.medium
def test_the_export_translates_like_the_run(export, run, succeed, monkeypatch):
    outputs = []
    for model in (("--saved-model", export), ("--run", run)):
        feed(monkeypatch, b"one two three\n\nfour\n")
        outputs.append(succeed("translate", *model).out)
    assert outputs[0].count("\n") == 3
    assert outputs[0] == outputs[1]
