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


def test_half_of_the_sources_are_held_back(call):
    call("--epochs=4")
    assert (call.out / "half.tsv").read_text().splitlines() == [
        f"en train {i}\tzh train {i}" for i in range(0, 10, 2)
    ]
    assert (call.out / "back-half.tsv").read_text().splitlines()[1] == (
        "zh train 2\ten train 2"
    )
    assert (call.out / "made-half.target").read_text().splitlines() == [
        f"zh train {i}" for i in range(1, 10, 2)
    ]


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
    assert "--decoding=sampling=true" in commands[2]
    rows = [row.split(" | ") for row in table.splitlines()[2:]]
    assert [row[2] for row in rows] == ["20.1", "21.6", "25.1"]
    assert [row[6] for row in rows] == [" |", "0.031 |", "0.031 |"]


def test_nothing_is_hidden(call):
    chosen = "--preset=tatoeba", "--only", "whole", "added"
    commands, table = call("--epochs=8", *chosen)
    every = [f"zh train {i}" for i in range(10)]
    assert (call.out / "made-whole.target").read_text().splitlines() == every
    back, whole, added = (w for w in commands if w[0] == "prepare")
    assert back[2] == f"{call.out}/back-whole.tsv"
    assert whole[2] == f"{call.out}/whole.tsv"
    made = f"{call.out}/made-whole.source,{call.out}/made-whole.target#BT"
    assert added[2:4] == [f"{call.out}/whole.tsv", made]
    assert epochs(commands) == [4, *(4, 2) * 3]
    averaged = epochs(commands, "--set=training.average_epochs=")
    assert averaged == [4, *(4, 2) * 3]
    # The whole is compared with a model that isn't among these.
    against = [w for w in commands if "--against" in w]
    assert len(against) == 3
    assert against[1][-1] == f"{call.out}/whole-2.txt"
    assert table.splitlines()[-2:] == [
        "all pairs: 25.2 ± 0.2",
        "these and back-translations of all targets: 26.2 ± 0.2, beside all "
        "pairs p < 0.001",
    ]


def test_each_seed_is_a_training(call):
    commands, _ = call("--epochs=4", "--seeds", "3", "5", "--jobs", "2")
    trained = [words for words in commands if words[0] == "train"]
    outs = [pathlib.Path(w[w.index("--out") + 1]).name for w in trained]
    assert outs[0] == "back-half-run"
    assert "--set=training.seed=3" in trained[0]
    assert sorted(outs[1:]) == [
        f"{name}-{seed}-run"
        for name in ("half", "mixed", "whole")
        for seed in (3, 5)
    ]
    assert all("--threads=1" in words for words in trained)


def test_models_in_any_order_and_compared_later(call):
    call("--epochs=4", "--only", "mixed", "--seeds", "1")
    options = "--epochs=4", "--only", "mixed", "half", "--seeds", "1"
    commands, table = call(*options)
    assert [w[0] for w in commands] == [
        *("prepare", "train", "evaluate", "evaluate")
    ]
    assert "--against" in commands[-1]
    assert "half of the pairs | 0.031" in table


def test_what_is_done_is_not_done_again(call):
    _, table = call("--epochs=4")
    commands, again = call("--epochs=4")
    assert commands == []
    assert again == table


def test_a_half_trained_run_is_resumed(call):
    call("--epochs=4", "--only", "half")
    (call.out / "half-2-run.trained").unlink()
    commands, _ = call("--epochs=4", "--only", "half")
    assert len(commands) == 1
    assert "--resume" in commands[0]


def test_the_epochs_are_those_of_the_preset(call):
    options = "--preset=demo", "--only", "mixed", "--seeds", "1"
    commands, _ = call(*options)
    assert epochs(commands) == [8, 4]


def epochs(commands, option="--epochs="):
    """Of each training, in order; or those of another option."""
    return [
        int(word.rpartition("=")[2])
        for words in commands
        if words[0] == "train"
        for word in words
        if word.startswith(option)
    ]
