"""Which commands the measurement of training further gives."""

import json
import pathlib
import types

import pytest

from keras_transformer.cli.main import build_parser
from keras_transformer.evaluation.significance import Resampling
from scripts.benchmarks.fine_tuning import __main__ as fine_tuning

# The same in simplified and in traditional Chinese.
SIMPLE = (
    "一二三四五六七八九十人口手足耳目日月水火山石田土木禾上中下左右天地大小"
)


def translation(name, source):
    """What a model says: less and less of a reference, the worse it is."""
    kept = {"imported": 16, "further-0.0001-0.5": 30, "alone": 6}.get(name, 20)
    number = int(source.split()[-1])
    return reference(source)[: kept - number % 5]


def reference(source):
    """Characters of their own for each sentence."""
    return "".join(SIMPLE[ord(c) % len(SIMPLE)] for c in source * 2)


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Calls the script; commands are recorded instead of run."""
    for name, count in (("train", 60), ("dev", 4)):
        sources = [f"en {name} {i}" for i in range(count)]
        lines = [f"{text}\t{reference(text)}\n" for text in sources]
        (tmp_path / f"{name}.tsv").write_text("".join(lines), "utf-8")
    commands = []
    out = tmp_path / "out"

    def run(words):
        words = [str(word) for word in words]
        build_parser().parse_args(words)
        commands.append(words)
        if words[0] == "evaluate":
            scores = {"bleu": 0.0, "chrf": 1.0, "cross_entropy": 2.0}
            return json.dumps(scores) + "\n"
        if words[0] == "translate":
            name = pathlib.Path(words[words.index("--run") + 1]).name
            path = pathlib.Path(words[words.index("--input") + 1])
            sources = path.read_text("utf-8").splitlines()
            path = pathlib.Path(words[words.index("--output") + 1])
            lines = [translation(name, source) + "\n" for source in sources]
            path.write_text("".join(lines), "utf-8")
            return ""
        pathlib.Path(words[words.index("--out") + 1]).mkdir(exist_ok=True)

    def pretrain(words, cwd, check):
        commands.append(words)
        folder = pathlib.Path(words[words.index("--out") + 1])
        folder.mkdir()
        (folder / "config.json").touch()

    few = Resampling(resamples=50, trials=200)
    monkeypatch.setattr(fine_tuning, "_RESAMPLING", few)
    monkeypatch.setattr(fine_tuning.steps, "run", run)
    # Not `subprocess.run` itself, which imports call, too.
    processes = types.SimpleNamespace(run=pretrain)
    monkeypatch.setattr(fine_tuning, "subprocess", processes)

    def call(*options):
        del commands[:]
        files = [f"--{name}={tmp_path / name}.tsv" for name in ("train", "dev")]
        words = [*files, f"--out={out}", "--python=python-hf", *options]
        assert fine_tuning.main(words) == 0
        return commands, capsys.readouterr().out

    call.out = out
    return call


def sources(path):
    lines = path.read_text("utf-8").splitlines()
    return [line.split("\t")[0] for line in lines]


def test_commands(call):
    commands, _ = call("--rates", "1e-4", "3e-4", "--fractions", "0.5", "0")
    scored = ["evaluate", "translate", "translate"]
    assert [words[0] for words in commands] == [
        *("python-hf", "import", *scored),
        *("prepare", *("train", *scored) * 4),
        *("prepare", "train", *scored),
    ]
    assert commands[1][-2:] == ["--positions", "sinusoidal"]
    further, alone = (words for words in commands if words[0] == "prepare")
    assert further[2] == alone[2] == f"{call.out}/tenth.tsv"
    assert f"{call.out}/imported" in further
    *further, alone = (words for words in commands if words[0] == "train")
    assert "--preset=finetune" in further[0]
    assert "--from" not in alone
    rate = "training.learning_rate=0.0003"
    assert [
        [
            word.removeprefix("training.initial_")
            for word in words
            if "=0" in word
        ]
        for words in further
    ] == [[], ["fraction=0"], [rate], [rate, "fraction=0"]]


def test_what_is_done_is_not_done_again(call):
    _, table = call()
    commands, again = call()
    assert commands == []
    assert again == table
