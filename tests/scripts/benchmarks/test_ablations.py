"""Which commands the variants of a recipe become."""

import json
from pathlib import Path

import pytest

from keras_transformer.cli.main import build_parser
from keras_transformer.config import Config
from keras_transformer.evaluation.significance import Resampling
from scripts.benchmarks.ablations import __main__ as ablations

VARIANTS = """
base:
  prepare: {data.source_vocabulary_size: 100}
  train: {training.epochs: 2}
  evaluate: {beam-size: 4}
variants:
  long:
    what: more epochs
    train: {training.epochs: 3}
  words:
    what: words
    prepare: {data.source_tokenizer: word, data.source_vocabulary_size: null}
  greedy:
    what: greedy search
    evaluate: {beam-size: 1}
"""
CONFIG = "data: {source_language: en, target_language: en}"
REFERENCES = [f"one two three four five {n}" for n in range(20)]
WRONG = "one two three 4 5"
BLEU = {"base": 20.0, "long": 21.5, "words": 19.0, "greedy": 18.0}


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Calls the script; commands are recorded instead of run."""
    lines = "".join(f"x\t{line}\n" for line in REFERENCES)
    (tmp_path / "dev.tsv").write_text(lines)
    commands = []

    def run(command, environment, log):
        words = [str(word) for word in command]
        commands.append((words, environment))
        if words[0] in ("prepare", "train"):
            folder = Path(words[words.index("--out") + 1])
            folder.mkdir()
            (folder / "config.yaml").write_text(CONFIG)
        name = next((w for w in words if "out/" in w), "").split("/")[-1]
        name = "greedy" if "--beam-size=1" in words else name.split("-")[0]
        if words[0] == "evaluate":
            lines = REFERENCES[: 4 if name == "words" else 14]
            dev = Path(words[words.index("--input") + 1]).read_text()
            wrong = [WRONG] * (dev.count("\n") - len(lines))
            text = "\n".join([*lines, *wrong, ""])
            Path(words[words.index("--output") + 1]).write_text(text)
        scores = {"bleu": BLEU.get(name, 0), "chrf": 1.0, "cross_entropy": 2.0}
        return json.dumps(scores) + "\n"

    few = Resampling(resamples=0, trials=200)
    monkeypatch.setattr(ablations.results, "_RESAMPLING", few)
    monkeypatch.setattr(ablations, "_run", run)

    def call(*options):
        del commands[:]
        files = ["--train", "train.tsv", "--dev", str(tmp_path / "dev.tsv")]
        files += ["--seeds", "1"]
        (tmp_path / "variants.yaml").write_text(VARIANTS)
        files += ["--variants", str(tmp_path / "variants.yaml")]
        files += ["--out", str(tmp_path / "out")]
        assert ablations.main([*files, *options]) == 0
        return commands

    return call


def named(commands, command):
    return [words for words, _ in commands if words[0] == command]


def test_each_variant_is_trained_once_and_the_table_sorts_them(call, capsys):
    commands = call()
    assert len(named(commands, "prepare")) == 2
    trained = named(commands, "train")
    assert len(trained) == 3
    long = next(
        words for words in trained if "--set=training.epochs=3" in words
    )
    assert "--set=training.seed=1" in long
    assert "--set=training.threads=1" not in long
    # Greedy search is the base's run, searched again.
    greedy = named(commands, "evaluate")[-1]
    assert "--beam-size=1" in greedy
    assert any(word.endswith("base-1") for word in greedy)
    table = capsys.readouterr().out
    assert call() == []  # What was measured is not measured again.
    assert capsys.readouterr().out == table
    rows = table.splitlines()[2:]
    assert [row.split(" | ")[0] for row in rows] == [
        "| long",
        "| base",
        "| words",
        "| greedy",
    ]
    assert "`training.epochs=3` | 1 | 21.5 | 1.0 | 2.000" in rows[0]
    # The last columns: nothing is known of other seeds.
    assert rows[0].endswith("| – | 1.000 | one seed |")


def sections(settings):
    """`{"section.key": value}` as `{section: {key: value}}`."""
    values = {}
    for key, value in settings.items():
        section, name = key.split(".")
        values.setdefault(section, {})[name] = value
    return values


@pytest.mark.parametrize(
    "file",
    ["variants.yaml", "variants_quarter.yaml", "variants_captions.yaml"],
)
def test_variants_of_the_files_are_valid_configurations(file):
    path = Path(ablations.__file__).with_name(file)
    recipes = ablations._recipes(path, None)
    assert len(recipes) > 1
    for recipe in recipes.values():
        for part in ("prepare", "train"):
            Config().updated(sections(recipe[part]))
        words = ablations._evaluate_options(recipe)
        build_parser().parse_args(["evaluate", "--run=r", "--input=d", *words])
