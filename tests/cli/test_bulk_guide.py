"""The commands of the guide to bulk translation."""

import re
import shlex

import pytest

from keras_transformer.cli.main import build_parser, main
from keras_transformer.data.demo import load_demo_corpus
from keras_transformer.data.prepared import PreparedData
from tests.cli.conftest import ROOT, TRAIN_OPTIONS

GUIDE = ROOT / "docs/en/guides/bulk-translation.md"


def commands(text):
    """The words of each command of the package, those of others left out."""
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    words = [shlex.split(line) for line in lines]
    # What Slurm is to run stands in quotes.
    words = [
        shlex.split(line[-1]) if line[0] == "sbatch" else line for line in words
    ]
    return [line[1:] for line in words if line[0] == "keras-transformer"]


def test_every_command_is_one():
    for words in commands(GUIDE.read_text("utf-8")):
        build_parser().parse_args(words)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with what the commands of back-translation start from."""
    monkeypatch.chdir(tmp_path)
    for name in ("SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"):
        monkeypatch.delenv(name, raising=False)
    pairs = load_demo_corpus().train
    parts = {"train": pairs[:200], "dev": pairs[200:230]}
    for name, part in parts.items():
        lines = [f"{source}\t{target}\n" for source, target in part]
        (tmp_path / f"{name}.tsv").write_text("".join(lines))
        lines = [f"{target}\t{source}\n" for source, target in part]
        (tmp_path / f"{name}-zh-en.tsv").write_text("".join(lines))
    mono = "".join(f"{target}\n" for _, target in pairs[300:400])
    (tmp_path / "mono.zh").write_text(mono)
    train(
        *("prepare", "--train=train-zh-en.tsv", "--dev=dev-zh-en.tsv"),
        *("--out=data/zh-en", "--source-language=zh", "--target-language=en"),
        "--set=data.source_vocabulary_size=200",
        "--set=data.target_vocabulary_size=200",
    )
    train("train", "--data=data/zh-en", "--out=runs/zh-en")
    return tmp_path


def train(*words):
    """A command, its training as short as can be."""
    if words[0] == "train":
        words += (*TRAIN_OPTIONS, "--set=model.max_length=64", "--epochs=1")
    assert main(list(words)) == 0


@pytest.mark.slow
def test_three_commands_of_back_translation(folder):
    text = GUIDE.read_text("utf-8").partition("## Back-translation")[2]
    words = commands(text)
    assert [line[0] for line in words] == ["translate", "prepare", "train"]
    for line in words:
        train(*line)
    made = (folder / "mono.en").read_text().splitlines()
    assert len(made) == 100
    assert any(made)
    prepared = PreparedData.load(folder / "data" / "en-zh-bt")
    assert prepared.counts["train"] > 200
    assert "<BT>" in prepared.config.source_tags
    assert (folder / "runs" / "en-zh-bt" / "history.jsonl").is_file()
