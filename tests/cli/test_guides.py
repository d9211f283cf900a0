"""Commands of guides run one after the other, as they stand there."""

import io
import json
import re

import pytest

from keras_transformer.data.demo import load_demo_corpus
from keras_transformer.data.prepared import PreparedData
from tests.cli.conftest import ROOT, TRAIN_OPTIONS, call
from tests.docs.pages import commands_of
from tests.importing.conftest import unpack
from tests.serving.asking import ask

GUIDES = ROOT / "docs/en/guides"
PROGRAM = "keras-transformer"


def write_pairs(path, pairs):
    lines = [f"{source}\t{target}\n" for source, target in pairs]
    path.write_text("".join(lines), "utf-8")


def short(words):
    """A command, its training as short as can be."""
    if words[0] == "train":
        words = [*words, *TRAIN_OPTIONS, "--set=model.max_length=128"]
        words.append("--epochs=1")
    call(*words)


@pytest.mark.slow
def test_three_commands_of_back_translation(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"):
        monkeypatch.delenv(name, raising=False)
    pairs = load_demo_corpus().train
    for name, part in (("train", pairs[:200]), ("dev", pairs[200:230])):
        write_pairs(tmp_path / f"{name}.tsv", part)
        write_pairs(tmp_path / f"{name}-zh-en.tsv", [(b, a) for a, b in part])
    (tmp_path / "train.tsv").rename(tmp_path / "train.en-zh.tsv")
    mono = "".join(f"{target}\n" for _, target in pairs[300:400])
    (tmp_path / "mono.zh").write_text(mono, "utf-8")
    languages = ["--source-language=zh", "--target-language=en"]
    files = ["--train=train-zh-en.tsv", "--dev=dev-zh-en.tsv"]
    short(["prepare", *files, "--out=data/zh-en", *languages])
    short(["train", "--data=data/zh-en", "--out=runs/zh-en"])
    last = commands_of(PROGRAM, GUIDES / "bulk-translation.md")[-3:]
    assert [line[0] for line in last] == [
        "translate-shards",
        "prepare",
        "train",
    ]
    for line in last:
        short(line)
    made = (tmp_path / "mono.en").read_text().splitlines()
    assert len(made) == 100
    assert any(made)
    prepared = PreparedData.load(tmp_path / "data" / "en-zh-bt")
    assert prepared.counts["train"] > 200
    assert "<BT>" in prepared.config.source_tags
    assert (tmp_path / "runs" / "en-zh-bt" / "history.jsonl").is_file()


@pytest.mark.slow
def test_an_opus_mt_model_from_its_folder_to_a_server(
    tmp_path, monkeypatch, succeed
):
    monkeypatch.chdir(tmp_path)
    unpack("big", tmp_path / "opus-mt-en-zh")
    pairs = load_demo_corpus().train
    write_pairs(tmp_path / "pairs.tsv", pairs[:120])
    write_pairs(tmp_path / "test.tsv", pairs[200:210])
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(b"I go.\n")))
    monkeypatch.setattr("sys.stdin", stdin)
    *before, serve = commands_of(PROGRAM, GUIDES / "opus-mt.md")
    for words in before:
        if words[0] == "train":
            words += ["--epochs=1", "--set=training.threads=1"]
        call(*words)
    described = tmp_path / "saved_models/en-zh/1/assets.extra"
    described = json.loads((described / "keras_transformer.json").read_text())
    assert described["imported"]["license"] == "apache-2.0"
    answer = served(tmp_path, serve, "I go to Shanghai.")
    said = succeed("translate", "--run=runs/mine", "I go to Shanghai.").out
    assert said == f"{answer['translation']}\n"


@pytest.mark.slow
def test_tags_and_terms(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    guide = (GUIDES / "tags-and-terms.md").read_text("utf-8")
    terms, code = (
        re.search(f"```{kind}\n(.*?)```", guide, re.DOTALL)[1]
        for kind in ("text", "python")
    )
    (tmp_path / "terms.tsv").write_text(terms)
    words = [f"{a}{b}a" for a in "bdfgklm" for b in "aeiou"]
    names = [(words[n % 35], words[n % 19]) for n in range(400)]
    pairs = [
        (f"Select {a} <b>cell</b> {b}", f"{a} <b>Zellen</b> {b} markieren")
        for a, b in names
    ]
    write_pairs(tmp_path / "train.en-de.tsv", pairs)
    (tmp_path / "help.html").write_text("<p>Select a <b>cell</b>.</p>")
    guide = GUIDES / "tags-and-terms.md"
    prepare, train, translate = commands_of(PROGRAM, guide)
    short(prepare)
    report = PreparedData.load(tmp_path / "data" / "en-de").report
    assert report["terms"]["listed"] > 0
    assert report["markup"]["masked"] > 300
    short(train)
    capsys.readouterr()
    short(translate)
    line = capsys.readouterr().out
    assert line.count("<b>") == line.count("</b>") == 1
    exec(code, {})
    assert (tmp_path / "hilfe.html").read_text().count("<b>") == 1


def served(folder, words, text):
    """What the server of a command says of a text."""
    from tests.attack.served import Served

    with Served(*words[1:-1], folder / words[-1]) as server:
        body = json.dumps({"instances": [text]}).encode()
        answer = ask(server.host, "/v1/models/en-zh:predict", body)
    assert answer.status == 200
    return json.loads(answer.body)["predictions"][0]
