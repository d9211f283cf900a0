"""Which commands the variants of a recipe become."""

import json
from pathlib import Path

import pytest

from keras_transformer.cli.main import build_parser
from keras_transformer.config import Config
from keras_transformer.evaluation import significance
from keras_transformer.evaluation.significance import Resampling
from keras_transformer.presets import preset
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
        if f"--set={call.fails}" in words:
            raise ablations._Failed("that failed")
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
        seed = words[words.index("--run") + 1][-1] if "--run" in words else 0
        bleu = BLEU.get(name, 0) + call.noise * int(seed)
        scores = {"bleu": bleu, "chrf": 1.0, "cross_entropy": 2.0}
        return json.dumps(scores) + "\n"

    few = Resampling(resamples=0, trials=200)
    monkeypatch.setattr(ablations.results, "_RESAMPLING", few)
    monkeypatch.setattr(ablations, "_run", run)

    def call(*options):
        del commands[:]
        files = ["--train", "train.tsv", "--dev", str(tmp_path / "dev.tsv")]
        files += ["--seeds", *call.seeds]
        (tmp_path / "variants.yaml").write_text(call.variants)
        files += ["--variants", str(tmp_path / "variants.yaml")]
        files += ["--out", str(tmp_path / "out")]
        assert ablations.main([*files, *options]) == bool(call.fails)
        return commands

    call.fails, call.noise, call.seeds = "", 0.0, ["1"]
    call.variants, call.folder = VARIANTS, tmp_path
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
    assert "--threads=1" not in long
    # Greedy search is the base's run, searched again.
    greedy = named(commands, "evaluate")[-1]
    assert "--beam-size=1" in greedy
    assert any(word.endswith("base-1") for word in greedy)
    rows = capsys.readouterr().out.splitlines()[2:]
    assert [row.split(" | ")[0] for row in rows] == [
        "| long",
        "| base",
        "| words",
        "| greedy",
    ]
    assert "`training.epochs=3` | 1 | 21.5 | 1.0 | 2.000" in rows[0]
    # The last columns: nothing is known of other seeds.
    assert rows[0].endswith("| – | 1.000 | one seed |")


def test_what_was_measured_is_not_measured_again(call, capsys):
    call()
    first = capsys.readouterr().out
    assert call() == []
    assert capsys.readouterr().out == first


def test_results_of_other_commands_are_not_taken_for_these(call, capsys):
    call("--only", "base", "greedy")
    call.fails = "nothing else"
    assert call("--only", "base", "greedy", "--epochs", "9") == []
    told = capsys.readouterr().err
    assert "base-1.json was measured by another command" in told
    assert "--set=training.epochs=9" in told
    # How many run at a time is no other recipe.
    call.fails = ""
    assert call("--only", "base", "greedy", "--jobs", "2") == []


def test_translations_are_compared_as_they_were_scored(call, monkeypatch):
    compared = []

    def compare(*arguments, **options):
        compared.append(options["tokenize"])
        return significance.compare(*arguments, **options)

    monkeypatch.setattr(ablations.results, "compare", compare)
    call()
    assert compared == [None] * 3
    call.variants = VARIANTS.replace("beam-size: 4", "tokenize: none")
    call("--out", str(call.folder / "none"))
    assert compared[3:] == ["none"] * 3


def test_variants_side_by_side_have_a_thread_each(call):
    commands = call("--jobs", "2", "--only", "base", "long")
    assert len(named(commands, "train")) == 2
    for words, environment in commands:
        if words[0] == "train":
            assert "--threads=1" in words
            assert environment["TF_NUM_INTRAOP_THREADS"] == "1"


def cells(table, name):
    row = next(r for r in table.splitlines() if r.startswith(f"| {name} "))
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_three_seeds_say_which_differences_are_real(call, capsys):
    call.noise, call.seeds = 0.1, ["1", "2", "3"]
    commands = call()
    assert len(named(commands, "train")) == 9
    table = capsys.readouterr().out
    # 0.1 of standard deviation, 4.303 of t, by the root of 3.
    assert cells(table, "base")[3:5] == ["3", "20.2 ± 0.2"]
    # Of long, translations are the base's; of words, far fewer are right.
    assert cells(table, "long")[8:] == ["< 0.001", "1.000", "no"]
    by_seeds, by_sentences, verdict = cells(table, "words")[8:]
    assert by_seeds == "< 0.001"
    assert float(by_sentences) < 0.05
    assert verdict == "yes"
    assert cells(table, "base")[8:] == ["–", "–", ""]


def test_what_lies_within_the_noise_is_not_called_real(call, capsys):
    call.noise, call.seeds = 2.0, ["1", "2", "3"]
    call("--only", "base", "words")
    by_seeds, by_sentences, verdict = cells(capsys.readouterr().out, "words")[
        8:
    ]
    assert float(by_seeds) > 0.5
    assert float(by_sentences) < 0.05
    assert verdict == "no"


def test_the_table_has_every_seed_measured(call, capsys):
    call("--only", "base", "long")
    capsys.readouterr()
    call.seeds = ["2", "3"]
    call("--only", "long")
    assert cells(capsys.readouterr().out, "long")[3:5] == ["3", "21.5 ± 0.0"]


def test_a_variant_that_fails_does_not_end_the_others(call, capsys):
    call.fails = "training.epochs=3"
    call()
    told = capsys.readouterr()
    assert "long, seed 1: that failed" in told.err
    assert "| long" not in told.out
    assert all(f"| {name} " in told.out for name in ("base", "words", "greedy"))


def test_quick_is_an_epoch_of_a_part_of_the_pairs(call, tmp_path, capsys):
    lines = [f"{n}\tx\n" for n in range(5000)]
    files = []
    for name in ("train", "dev"):
        path = tmp_path / f"{name}.tsv"
        path.write_text("".join(lines))
        files += [f"--{name}", str(path)]
    commands = call("--quick", *files)
    (trained,) = named(commands, "train")
    assert "--set=training.epochs=1" in trained
    assert len(named(commands, "evaluate")) == 2
    shorter = tmp_path / "out/quick"
    assert len((shorter / "train.tsv").read_text().splitlines()) == 2000
    assert len((shorter / "dev.tsv").read_text().splitlines()) == 200
    told = capsys.readouterr()
    assert "not to be quoted" in told.err
    assert "| greedy |" in told.out


def test_unknown_variants_are_refused(call):
    with pytest.raises(SystemExit, match="no variant lang. Accepted: base"):
        call("--only", "lang")


def sections(settings):
    """`{"section.key": value}` as `{section: {key: value}}`."""
    values = {}
    for key, value in settings.items():
        section, name = key.split(".")
        values.setdefault(section, {})[name] = value
    return values


def test_the_base_of_captions_is_the_preset_tiny():
    path = Path(ablations.__file__).with_name("variants_captions.yaml")
    base = ablations._recipes(path, ["base"])["base"]
    config = Config()
    for part in ("prepare", "train"):
        config = config.updated(sections(base[part]))
    decoding = {
        name.replace("-", "_"): value
        for name, value in base["evaluate"].items()
        if name != "tokenize"
    }
    language = {"data": {"target_language": "de"}}
    assert config.updated({"decoding": decoding}) == preset("tiny").updated(
        language
    )


@pytest.mark.parametrize(
    ("file", "variants"),
    [
        ("variants.yaml", 20),
        ("variants_quarter.yaml", 5),
        ("variants_captions.yaml", 17),
    ],
)
def test_variants_of_the_files_are_valid_configurations(file, variants):
    path = Path(ablations.__file__).with_name(file)
    recipes = ablations._recipes(path, None)
    assert len(recipes) >= variants
    for recipe in recipes.values():
        for part in ("prepare", "train"):
            Config().updated(sections(recipe[part]))
        words = [f"--{name}={v}" for name, v in recipe["evaluate"].items()]
        build_parser().parse_args(["evaluate", "--run=r", "--input=d", *words])
