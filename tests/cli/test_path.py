"""The whole path as a user walks it."""

import io
import json
import shutil
import subprocess

import pytest

from keras_transformer.cli.main import main
from tests.cli.conftest import DATA_OPTIONS, TRAIN_OPTIONS, start


def feed(monkeypatch, data: bytes):
    stream = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", stream)


def test_prepare_warns_of_a_dev_set_that_is_in_training(
    corpus, capsys, tmp_path
):
    options = ["--train", str(corpus / "train.tsv")]
    options += ["--dev", str(corpus / "dev.tsv")]
    options += ["--target-language", "en", "--target-tokenizer", "word"]
    assert main(["prepare", *options, "--out", str(tmp_path / "d")]) == 0
    said = capsys.readouterr()
    assert "duplicate" in said.out
    warning = said.err
    assert "20 of 20 dev pairs" in warning
    assert "--set data.remove_leaked=side" in warning


@pytest.mark.usefixtures("untrained")
def test_too_few_pairs_for_a_model_are_told(
    run, data, corpus, capsys, tmp_path
):
    few = "training pairs are too few for a model of its own"
    options = ["--train", str(corpus / "train.tsv"), *DATA_OPTIONS]
    prepared = tmp_path / "few"
    assert main(["prepare", *options, "--out", str(prepared)]) == 0
    said = capsys.readouterr().err
    assert f"warning: 145 {few}" in said
    for command in ("import", "prepare --tokenizers", "train --from"):
        assert command in said
    # With the tokenizers of a model that is to be trained on, all is well.
    options = ["--train", str(corpus / "train.tsv"), "--tokenizers", str(run)]
    assert main(["prepare", *options, "--out", str(tmp_path / "more")]) == 0
    assert few not in capsys.readouterr().err
    train = ["train", "--data", str(data), "--out", str(tmp_path / "run")]
    assert main([*train, *TRAIN_OPTIONS]) == 0
    assert few in capsys.readouterr().err
    train[-1] += "2"
    assert main([*train, "--from", str(run), *TRAIN_OPTIONS]) == 0
    assert few not in capsys.readouterr().err


@pytest.mark.filterwarnings("default")
def test_prepare_says_warnings_in_a_line_each(corpus, capsys, tmp_path):
    path = tmp_path / "digits.tsv"
    path.write_text("".join(f"раз {n}\tone {n}\n" for n in range(9)))
    options = ["--train", str(path), "--out", str(tmp_path / "d")]
    assert main(["prepare", *options, *DATA_OPTIONS]) == 0
    (first, _) = capsys.readouterr().err.splitlines()
    assert first.startswith(f"warning: {path}: most sources are not in")


def test_prepare_tells_what_its_options_left_out(corpus, capsys, tmp_path):
    options = ["--train", str(corpus / "train.tsv")]
    options += ["--held-out", str(corpus / "dev.tsv")]
    options += ["--target-language", "en", "--target-tokenizer", "word"]
    keys = {
        "remove_leaked": "pair",
        "remove_duplicates": "false",
        "length_ratio_deviations": 3,
    }
    options += [f"--set=data.{key}={value}" for key, value in keys.items()]
    assert main(["prepare", *options, "--out", str(tmp_path / "d")]) == 0
    said = capsys.readouterr()
    assert "leaked" in said.out
    # Nothing is said of what dropped nothing.
    assert "empty" not in said.out
    assert "wrong_script" not in said.out
    assert "remove_leaked" not in said.err


def test_evaluate_gives_json_that_agrees_with_training(run, corpus, capsys):
    options = ["--run", str(run), "--input", str(corpus / "dev.tsv")]
    assert main(["evaluate", *options, "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["sentences"] == 20
    assert values["cross_entropy"] > 0
    assert "tok:13a" in values["bleu_signature"]
    assert values["beam_size"] == 4
    line = json.loads((run / "history.jsonl").read_text().splitlines()[0])
    assert values["cross_entropy"] == pytest.approx(
        line["val_cross_entropy"], rel=1e-4
    )


def test_translate_keeps_order_and_blank_lines(
    run, capsys, monkeypatch, tmp_path
):
    lines = b"one two\n\ntwo three four\r\n   \nfive"
    feed(monkeypatch, lines)
    assert main(["translate", "--run", str(run)]) == 0
    together = capsys.readouterr().out.split("\n")
    assert together[-1] == ""
    assert len(together) == 6
    assert together[1] == together[3] == ""
    for place, line in ((0, b"one two"), (2, b"two three four")):
        feed(monkeypatch, line)
        assert main(["translate", "--run", str(run)]) == 0
        assert capsys.readouterr().out == together[place] + "\n"


def test_translate_from_file_to_file_with_scores(run, corpus, tmp_path):
    source = tmp_path / "in.txt"
    source.write_text("one two\nthree\n")
    target = tmp_path / "out.txt"
    options = ["--input", str(source), "--output", str(target), "--scores"]
    assert main(["translate", "--run", str(run), *options]) == 0
    rows = [line.split("\t") for line in target.read_text().splitlines()]
    assert len(rows) == 2
    assert all(float(row[1]) < 0 for row in rows)


def test_the_export_translates_like_the_run(export, run, capsys, monkeypatch):
    text = "one two three\n\nfour\n"
    process = start("translate", "--saved-model", export, stdin=subprocess.PIPE)
    out, err = process.communicate(text)
    assert process.returncode == 0, err
    assert out.count("\n") == 3
    feed(monkeypatch, text.encode())
    assert main(["translate", "--run", str(run)]) == 0
    assert capsys.readouterr().out == out


@pytest.mark.slow
def test_a_second_export_is_the_next_version(export, run, tmp_path):
    base = tmp_path / "toy"
    shutil.copytree(export, base)
    assert main(["export", "--run", str(run), "--out", str(base)]) == 0
    assert sorted(p.name for p in base.iterdir()) == ["1", "2"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "longer",
    [
        ["--epochs=2"],
        ["--epochs=2", "--set=training.precision=float32"],
        ["--set=training.epochs=2", *TRAIN_OPTIONS],
    ],
    ids=["alone", "with another option", "as a setting"],
)
def test_resume_for_more_epochs_goes_on(corpus, data, tmp_path, longer):
    out = tmp_path / "run"
    options = ["--data", str(data), "--out", str(out)]
    assert main(["train", *options, "--epochs=1", *TRAIN_OPTIONS]) == 0
    assert main(["train", *options, *longer, "--resume"]) == 0
    history = (out / "history.jsonl").read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in history] == [1, 2]


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("training.seed=77", "training.seed 77 (the run has 1)"),
        ("model.d_ff=64", "model.d_ff 64 (the run has 32)"),
    ],
)
def test_resume_refuses_another_setting(run, data, refuses, setting, says):
    words = ["train", "--data", data, "--out", run, "--resume"]
    says = [says, "None was taken"]
    refuses(*words, f"--set={setting}", says=says)
