"""Which commands the measurement of back-translation gives."""

import json
import pathlib

import pytest

from keras_transformer.cli.main import build_parser
from scripts.benchmarks.back_translation import __main__ as back_translation

BLEU = {"half": 20.0, "mixed": 21.5, "whole": 25.0, "added": 26.0}


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
            run = pathlib.Path(words[words.index("--run") + 1]).name
            name, seed, _ = run.split("-")
            bleu = BLEU[name] + int(seed) / 10
            scores = {"bleu": bleu, "chrf": 1.0, "cross_entropy": 2.0}
            if "--against" in words:
                scores["against"] = [{"bleu_p_values": {"ar": 0.0312}}]
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


def test_three_models_and_one_back(call):
    commands, table = call("--epochs=4", "--seeds", "1")
    assert [words[0] for words in commands] == [
        *("prepare", "train", "translate"),
        *("prepare",) * 3,
        *("train",) * 3,
        *("evaluate",) * 3,
    ]
    back, half, mixed, whole = (w for w in commands if w[0] == "prepare")
    assert "--source-language=zh" in back
    assert "--target-language=en" in back
    made = f"{call.out}/made-half.source,{call.out}/made-half.target#BT"
    assert mixed[2:4] == [f"{call.out}/half.tsv", made]
    assert half[2] == f"{call.out}/half.tsv"
    assert half[3] == "--dev"
    assert whole[2] == f"{call.out}/whole.tsv"
    assert epochs(commands) == [4, 4, 2, 2]
    assert "--set=decoding.sampling=true" in commands[2]
    rows = [row.split(" | ") for row in table.splitlines()[2:]]
    assert [row[2] for row in rows] == ["20.1", "21.6", "25.1"]
    assert [row[6] for row in rows] == [" |", "0.031 |", "0.031 |"]


def test_what_is_done_is_not_done_again(call):
    _, table = call("--epochs=4")
    commands, again = call("--epochs=4")
    assert commands == []
    assert again == table


def epochs(commands, option="--epochs="):
    """Of each training, in order; or those of another option."""
    return [
        int(word.rpartition("=")[2])
        for words in commands
        if words[0] == "train"
        for word in words
        if word.startswith(option)
    ]
