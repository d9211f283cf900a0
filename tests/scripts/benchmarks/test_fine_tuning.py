"""Which commands the measurement of training further gives."""

import json
import pathlib

import pytest

from keras_transformer.cli.main import build_parser
from scripts.benchmarks.fine_tuning import __main__ as fine_tuning

BLEU = {"imported": 20.0, "further-0.0001": 21.5, "alone": 5.0}


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Calls the script; commands are recorded instead of run."""
    for name, count in (("train", 60), ("dev", 4)):
        lines = [f"en {name} {i}\t漢 {name} {i}\n" for i in range(count)]
        (tmp_path / f"{name}.tsv").write_text("".join(lines), "utf-8")
    commands = []
    out = tmp_path / "out"

    def run(words):
        words = [str(word) for word in words]
        build_parser().parse_args(words)
        commands.append(words)
        if words[0] == "evaluate":
            name = pathlib.Path(words[words.index("--run") + 1]).name
            bleu = BLEU.get(name, 22.0)
            scores = {"bleu": bleu, "chrf": 1.0, "cross_entropy": 2.0}
            return json.dumps(scores) + "\n"
        pathlib.Path(words[words.index("--out") + 1]).mkdir(exist_ok=True)

    def pretrain(words, cwd, check):
        commands.append(words)
        folder = pathlib.Path(words[words.index("--out") + 1])
        folder.mkdir()
        (folder / "config.json").touch()

    monkeypatch.setattr(fine_tuning.steps, "run", run)
    monkeypatch.setattr(fine_tuning.subprocess, "run", pretrain)

    def call(*options):
        del commands[:]
        files = [f"--{name}={tmp_path / name}.tsv" for name in ("train", "dev")]
        words = [*files, f"--out={out}", "--python=python-hf", *options]
        assert fine_tuning.main(words) == 0
        return commands, capsys.readouterr().out

    call.out = out
    return call


def test_a_tenth_of_the_other_half_is_trained_on(call):
    call()
    assert (call.out / "half.tsv").read_text("utf-8").splitlines() == [
        f"en train {i}\t汉 train {i}" for i in range(0, 60, 2)
    ]
    assert (call.out / "tenth.tsv").read_text("utf-8").splitlines() == [
        f"en train {i}\t汉 train {i}" for i in (1, 21, 41)
    ]


def test_commands(call):
    commands, table = call("--rates", "1e-4", "3e-4")
    assert [words[0] for words in commands] == [
        *("python-hf", "import", "evaluate"),
        *("prepare", "train", "evaluate", "train", "evaluate"),
        *("prepare", "train", "evaluate"),
    ]
    assert commands[1][-2:] == ["--positions", "sinusoidal"]
    further, alone = (words for words in commands if words[0] == "prepare")
    assert further[2] == alone[2] == f"{call.out}/tenth.tsv"
    assert f"{call.out}/imported" in further
    first, second, third = (words for words in commands if words[0] == "train")
    assert "--preset=finetune" in first and "--set" not in first
    assert "training.learning_rate=0.0003" in second
    assert "--from" not in third
    assert [row.split(" | ")[1] for row in table.splitlines()[2:]] == [
        "20.0",
        "21.5",
        "22.0",
        "5.0",
    ]


def test_what_is_done_is_not_done_again(call):
    _, table = call()
    commands, again = call()
    assert commands == [] and again == table
