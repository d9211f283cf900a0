"""Experiments of several trainings: the commands that they run."""

import json
import pathlib
import types

import numpy as np
import pytest

from keras_transformer.cli.main import build_parser
from keras_transformer.data.augmentation import CHANGES
from keras_transformer.evaluation.significance import Resampling
from scripts.benchmarks import steps
from scripts.benchmarks.amounts import __main__ as amounts
from scripts.benchmarks.back_translation import __main__ as back_translation
from scripts.benchmarks.ctranslate2_export import __main__ as exporting
from scripts.benchmarks.distillation import __main__ as distillation
from scripts.benchmarks.filters import __main__ as filters
from scripts.benchmarks.fine_tuning import __main__ as fine_tuning
from scripts.benchmarks.robustness import __main__ as robustness

SCORES = {"bleu": 30.0, "bleu_interval": [29, 31.5], "chrf": 1.0}
SCORES |= {"cross_entropy": 2.0}
AGAINST = {"against": [{"bleu_p_values": {"ar": 0.0312}}]}


def option(words, name):
    return pathlib.Path(words[words.index(name) + 1])


@pytest.fixture
def commands(monkeypatch):
    """Commands that are recorded instead of run, if they are valid ones."""
    commands = []

    def run(words):
        words = [str(word) for word in words]
        build_parser().parse_args(words)
        commands.append(words)
        if words[0] == "evaluate":
            against = AGAINST if "--against" in words else {}
            return json.dumps(SCORES | against) + "\n"
        if words[0] == "translate":
            text = option(words, "--input").read_text("utf-8").upper()
            if any(word.endswith("int8") for word in words):
                text = text.replace("EN DEV 1", "other")
            option(words, "--output").write_text(text, "utf-8")
        else:
            option(words, "--out").mkdir(exist_ok=True)
        if words[0] == "train":
            (option(words, "--out") / "history.jsonl").write_text("{}\n{}\n")
        return ""

    monkeypatch.setattr(steps, "run", run)
    return commands


@pytest.fixture
def files(tmp_path):
    """Options that name a small corpus and a folder for results."""
    for name, count in (("train", 60), ("dev", 4)):
        lines = [f"en {name} {i}\tzh {name} {i}\n" for i in range(count)]
        (tmp_path / f"{name}.tsv").write_text("".join(lines))
    options = [f"--{name}={tmp_path / name}.tsv" for name in ("train", "dev")]
    return [*options, f"--out={tmp_path / 'out'}"]


def run_twice(main, options, commands, capsys):
    """The commands and the table; a second call repeats the table alone."""
    assert main(options) == 0
    given, table = [*commands], capsys.readouterr().out
    commands.clear()
    assert main(options) == 0
    assert commands == []
    assert capsys.readouterr().out == table
    return given, table.splitlines()[2:]


def test_amounts(commands, files, tmp_path, capsys):
    picture = tmp_path / "amounts.svg"
    options = [*files, "--pairs", "10", "50", f"--picture={picture}"]
    given, rows = run_twice(amounts.main, options, commands, capsys)
    assert [words[0] for words in given] == ["prepare", "train", "evaluate"] * 2
    less, more = (
        set(option(words, "--train").read_text("utf-8").splitlines())
        for words in given
        if words[0] == "prepare"
    )
    assert len(less) == 10
    assert len(more) == 50
    assert less < more
    assert rows[0].startswith("| 10 | 30.0 (29.0 to 31.5) |")
    assert "<svg" in picture.read_text("utf-8")


def test_back_translation(commands, files, tmp_path, capsys):
    options = [*files, "--epochs=4", "--seeds", "1"]
    given, rows = run_twice(back_translation.main, options, commands, capsys)
    assert [words[0] for words in given] == [
        *("prepare", "train", "translate"),
        *("prepare",) * 3,
        *("train",) * 3,
        *("evaluate",) * 3,
    ]
    out = tmp_path / "out"
    mixed = [words for words in given if words[0] == "prepare"][2]
    made = f"{out}/made-half.source,{out}/made-half.target#BT"
    assert mixed[2:4] == [f"{out}/half.tsv", made]
    assert [row.split(" | ")[6] for row in rows] == [" |", "0.031 |", "0.031 |"]


def test_distillation(commands, files, tmp_path, capsys, monkeypatch):
    rates = iter([100, 250, 90, 260, 300, 10] * 2)
    replaced = {
        "measure": lambda *_: {"tokens_per_second": next(rates)},
        "export_forced": lambda *_: None,
        "_parameters": lambda run: 12345,
    }
    for name, function in replaced.items():
        monkeypatch.setattr(distillation, name, function)
    options = [*files, f"--teacher={tmp_path / 't'}", f"--data={tmp_path}"]
    options += ["--shapes", "6-1", "--cells", "64-4"]
    given, rows = run_twice(distillation.main, options, commands, capsys)
    assert [words[0] for words in given] == [
        *("distill", "train"),
        *("evaluate",) * 4,
    ]
    assert [row.split(" | ")[-1] for row in rows] == [
        "100 (1.00 x) |",
        "250 (2.50 x) |",
    ]


def test_fine_tuning(commands, files, capsys, monkeypatch):
    def pretrain(words, cwd, check):
        commands.append(words)
        option(words, "--out").mkdir()
        (option(words, "--out") / "config.json").touch()

    few = Resampling(resamples=50, trials=200)
    monkeypatch.setattr(fine_tuning, "_RESAMPLING", few)
    # Not `subprocess.run` itself, which imports call, too.
    processes = types.SimpleNamespace(run=pretrain)
    monkeypatch.setattr(fine_tuning, "subprocess", processes)
    options = [*files, "--python=python-hf", "--rates", "1e-4", "3e-4"]
    given, _ = run_twice(fine_tuning.main, options, commands, capsys)
    scored = ["evaluate", "translate", "translate"]
    assert [words[0] for words in given] == [
        *("python-hf", "import", *scored),
        *("prepare", *("train", *scored) * 2),
        *("prepare", "train", *scored),
    ]


def test_what_fine_tuning_forgets(commands, files, capsys, monkeypatch):
    few = Resampling(resamples=50, trials=200)
    monkeypatch.setattr(fine_tuning, "_RESAMPLING", few)
    train, dev, _ = files
    options = [*files, f"--general={train.split('=')[1]}", "--mix", "0", "0.5"]
    options += [f"--general-dev={dev.split('=')[1]}", "--target-language=de"]
    given, rows = run_twice(fine_tuning.main, options, commands, capsys)
    scored = ["evaluate", "translate", "translate"]
    assert [words[0] for words in given] == [
        *("prepare", "train", *scored) * 4,
    ]
    mixed = [words for words in given if words[0] == "prepare"][2]
    assert mixed[3].endswith("half.tsv*0.5")
    assert len(rows) == 4


def test_filters(commands, files, tmp_path, capsys, monkeypatch):
    found = {name: np.arange(76) % 2 > 0 for name in ("script", "numbers")}
    monkeypatch.setattr(filters, "_dropped", lambda *_: {**found})
    languages = ["--source-language=en", "--target-language=zh"]
    options = [*files, *languages, "--bleu"]
    assert filters.main(options) == 0
    table = capsys.readouterr().out.split("\n\n")[0].splitlines()
    assert [words[0] for words in commands] == [
        *("prepare",) * 3,
        *("train", "evaluate") * 3,
    ]
    chosen = "script,copies,language,numbers,alignment"
    assert f"--set=data.filters=[{chosen}]" in commands[1]
    assert table[0] == "| pairs | number | script | numbers | all |"
    assert table[-2] == "| as it came | 60 | 50.0 % | 50.0 % | 50.0 % |"
    dirt = (tmp_path / "out" / "dirt.tsv").read_text().splitlines()
    assert len(dirt) == 16  # Four kinds; there is no third language.


def test_robustness(commands, files, tmp_path, capsys):
    options = [*files, "--fractions", "0", "0.2", "--seeds", "1"]
    given, rows = run_twice(robustness.main, options, commands, capsys)
    assert [words[0] for words in given] == [
        *("prepare", "train", "train"),
        *("evaluate",) * 14,
    ]
    assert [row.split(" | ")[0] for row in rows] == [
        f"| {name}" for name in ("as it is", *CHANGES, "joined")
    ]
    joined = (tmp_path / "out" / "dev-joined.tsv").read_text().splitlines()
    assert joined[0] == "en dev 0 en dev 1\tzh dev 0zh dev 1"


def test_exports_for_ctranslate2(commands, files, tmp_path, capsys):
    text = tmp_path / "in.txt"
    text.write_text("a\nb\n")
    words = ["--run=runs/x", files[1], f"--input={text}", "--json"]
    assert exporting.main([*words, "--compared=4"]) == 0
    printed = capsys.readouterr()
    report = json.loads(printed.out)
    assert report["equal"]["CTranslate2 float32"] == [4, 4]
    assert report["equal"]["CTranslate2 int8"] == [3, 3]
    row = "| CTranslate2 int8 | 3 | 3 | 30.00 (29.00 to 31.50) |"
    assert row in printed.err
