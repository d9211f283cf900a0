"""Which commands the measurement of back-translation gives."""

import json
import pathlib

import pytest

from keras_transformer.cli.main import build_parser
from scripts.benchmarks.back_translation import __main__ as back_translation

BLEU = {"half": 20.0, "mixed": 21.5, "whole": 25.0}


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Calls the script; commands are recorded instead of run."""
    for name, count in (("train", 10), ("dev", 4)):
        lines = [f"en {name} {i}\tzh {name} {i}\n" for i in range(count)]
        (tmp_path / f"{name}.tsv").write_text("".join(lines))
    commands = []
    out = tmp_path / "out"

    def run(words):
        words = [str(word) for word in words]
        build_parser().parse_args(words)
        commands.append(words)
        if words[0] == "translate":
            pathlib.Path(words[words.index("--output") + 1]).touch()
        elif words[0] == "evaluate":
            name = words[words.index("--run") + 1].split("/")[-1][:-4]
            scores = {"bleu": BLEU[name], "chrf": 1.0, "cross_entropy": 2.0}
            return json.dumps(scores) + "\n"
        else:
            pathlib.Path(words[words.index("--out") + 1]).mkdir(exist_ok=True)

    monkeypatch.setattr(back_translation.steps, "run", run)

    def call(*options):
        del commands[:]
        files = [f"--{name}={tmp_path / name}.tsv" for name in ("train", "dev")]
        assert back_translation.main([*files, f"--out={out}", *options]) == 0
        return commands, capsys.readouterr().out

    call.out = out
    return call


def test_half_of_the_sources_are_held_back(call):
    call("--epochs=4")
    assert (call.out / "half.tsv").read_text().splitlines() == [
        f"en train {i}\tzh train {i}" for i in range(0, 10, 2)
    ]
    assert (call.out / "back.tsv").read_text().splitlines()[1] == (
        "zh train 2\ten train 2"
    )
    assert (call.out / "mono.target").read_text().splitlines() == [
        f"zh train {i}" for i in range(1, 10, 2)
    ]


def test_three_models_and_one_back(call):
    commands, table = call("--epochs=4")
    assert [words[0] for words in commands] == [
        *("prepare", "train", "translate"),
        *("prepare", "train", "evaluate") * 3,
    ]
    back, half, mixed, whole = (w for w in commands if w[0] == "prepare")
    assert "--source-language=zh" in back
    assert "--target-language=en" in back
    made = f"{call.out}/mono.source,{call.out}/mono.target#BT"
    assert mixed[2:4] == [f"{call.out}/half.tsv", made]
    assert half[2] == f"{call.out}/half.tsv"
    assert half[3] == "--dev"
    assert whole[2] == f"{call.out}/whole.tsv"
    trained = [words for words in commands if words[0] == "train"]
    epochs = [[w for w in words if "--epochs" in w] for words in trained]
    assert epochs == [[f"--epochs={n}"] for n in (4, 4, 2, 2)]
    assert "--decoding=sampling=true" in commands[2]
    assert [row.split(" | ")[1] for row in table.splitlines()[2:]] == [
        "20.0",
        "21.5",
        "25.0",
    ]


def test_what_is_done_is_not_done_again(call):
    _, table = call("--epochs=4")
    commands, again = call("--epochs=4")
    assert commands == []
    assert again == table


def test_a_half_trained_run_is_resumed(call):
    call("--epochs=4", "--only", "half")
    (call.out / "half-run.trained").unlink()
    commands, _ = call("--epochs=4", "--only", "half")
    assert len(commands) == 1
    assert "--resume" in commands[0]


def test_the_epochs_are_those_of_the_preset(call):
    commands, _ = call("--preset=demo", "--only", "mixed")
    trained = [words for words in commands if words[0] == "train"]
    assert "--epochs=8" in trained[0]
    assert "--epochs=4" in trained[1]
