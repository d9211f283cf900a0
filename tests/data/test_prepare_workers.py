"""Preparing in worker processes: the same data, and what goes wrong there."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from keras_transformer.data import corpus as corpus_module
from keras_transformer.data import engines, prepare
from keras_transformer.data.engines import choose_workers
from keras_transformer.errors import InputError
from tests.data.conftest import contents
from tests.processes import children, wait_until_gone
from tests.word_data import word_data

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Pairs with repeats and shared sides, in two kinds of files."""
    folder = tmp_path_factory.mktemp("corpus")
    pairs = [
        (f"The {n % 997}. cat saw {n % 61}!", f"第{n % 997}只猫看{n % 31}鳥。")
        for n in range(6000)
    ]
    lines = [f"{source}\t{target}\n" for source, target in pairs]
    (folder / "a.tsv").write_text("".join(lines[:4000]), encoding="utf-8")
    sides = zip(*pairs[4000:], strict=True)
    for name, side in zip(("b.en", "b.zh"), sides, strict=True):
        text = "".join(f"{line}\n" for line in side)
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / "a.tsv", (folder / "b.en", folder / "b.zh")]


CONFIGS = {
    "words, characters, limits": word_data(remove_duplicates=False),
    "SentencePiece": word_data(
        source_tokenizer="sentencepiece",
        target_tokenizer="sentencepiece",
        source_vocabulary_size=200,
        target_vocabulary_size=200,
    ),
}


@pytest.mark.medium
@pytest.mark.parametrize("name", CONFIGS)
def test_workers_and_blocks_change_nothing(corpus, tmp_path, monkeypatch, name):
    whole = prepare.prepare(corpus, tmp_path / "1", CONFIGS[name], 0.03)
    monkeypatch.setattr(corpus_module.read_blocks, "__defaults__", (10_000,))
    for workers in (1, 2):
        out = tmp_path / f"parts-{workers}"
        prepare.prepare(corpus, out, CONFIGS[name], 0.03, workers=workers)
        assert contents(out) == contents(whole.path)


def test_the_order_of_the_corpus_changes_nothing(corpus, tmp_path):
    results = [
        prepare.prepare(files, tmp_path / str(number), word_data(), 0.05)
        for number, files in enumerate([corpus, corpus[::-1]])
    ]
    assert results[0].fingerprint != results[1].fingerprint
    first, second = (contents(result.path) for result in results)
    for content in (first, second):
        del content["manifest.json"]
    assert first == second


@pytest.mark.filterwarnings("ignore:.* are unknown to the tokenizers")
def test_ids_are_those_of_the_tokenizers(corpus, tmp_path):
    # Those of new tokenizers are made of numbered tokens, these of text.
    config = word_data(source_vocabulary_size=300)
    new = prepare.prepare(corpus, tmp_path / "new", config, 0.05)
    again = prepare.prepare(
        corpus, tmp_path / "again", config, 0.05, tokenizers=new.path
    )
    first, second = contents(new.path), contents(again.path)
    for content in (first, second):
        del content["manifest.json"]
    assert first == second


def test_an_error_in_a_worker_is_told_in_one_line(tmp_path):
    path = tmp_path / "bad.tsv"
    path.write_text("a\tb\n" * 100 + "lonely\n")
    with pytest.raises(InputError, match=r"bad\.tsv, line 101: one column"):
        prepare.prepare([path], tmp_path / "out", word_data(), workers=2)
    assert os.listdir(tmp_path) == ["bad.tsv"]


def test_how_many_workers(monkeypatch):
    monkeypatch.setattr(engines, "usable_cores", lambda: 8)
    assert choose_workers(None, 10 << 20) == 1
    assert choose_workers(None, 100 << 20) == 8
    assert choose_workers(3, 1) == 3
    with pytest.raises(InputError, match="must be 1 or more. Received: 0"):
        choose_workers(0, 1)


@pytest.fixture
def preparing(corpus, tmp_path):
    """`prepare` of a large file in a process of its own, and its workers."""
    text = corpus[0].read_text(encoding="utf-8") * 100
    path = tmp_path / "large.tsv"
    path.write_text(text, encoding="utf-8")
    out = tmp_path / "goal" / "out"
    words = ["prepare", "--train", path, "--out", out, "--workers", "2"]
    words += ["--preset", "demo"]
    process = subprocess.Popen(
        [sys.executable, "-m", "keras_transformer", *map(str, words)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 120
    goal = tmp_path / "goal"
    while process.poll() is None and not [*goal.glob("*/*/pairs/*")]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    yield process, children(process.pid), out.parent
    process.kill()
    process.communicate()


@pytest.mark.medium
def test_an_interrupted_preparation_leaves_nothing(preparing):
    process, workers, folder = preparing
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 2
    assert said.splitlines()[-1].endswith(
        "interrupted; nothing is half-written"
    )
    assert not folder.exists()
    wait_until_gone(workers)
