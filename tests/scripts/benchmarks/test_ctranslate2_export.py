"""Which commands the measurement of exports for CTranslate2 gives."""

import json
import pathlib

import pytest

from keras_transformer.cli.main import build_parser
from scripts.benchmarks.ctranslate2_export import __main__ as benchmark


@pytest.fixture
def commands(monkeypatch):
    """Records commands instead of running them; int8 differs in one text."""
    commands = []

    def run(words):
        words = [str(word) for word in words]
        build_parser().parse_args(words)
        commands.append(words)
        if words[0] == "evaluate":
            return (
                json.dumps({"bleu": 30.0, "bleu_interval": [29, 31.5]}) + "\n"
            )
        if words[0] == "translate":
            source = pathlib.Path(words[words.index("--input") + 1])
            lines = source.read_text("utf-8").upper()
            if any(word.endswith("int8") for word in words):
                lines = lines.replace("EN 1", "other", 1)
            out = pathlib.Path(words[words.index("--output") + 1])
            out.write_text(lines, "utf-8")
        return ""

    monkeypatch.setattr(benchmark.steps, "run", run)
    return commands


def test_each_way_is_compared_and_timed(commands, tmp_path, capsys):
    dev, text = tmp_path / "dev.tsv", tmp_path / "in.txt"
    dev.write_text("".join(f"en {i}\tzh {i}\n" for i in range(6)))
    text.write_text("a\nb\n")
    words = ["--run=runs/x", f"--dev={dev}", f"--input={text}", "--json"]
    assert benchmark.main([*words, "--compared=4"]) == 0
    printed = capsys.readouterr()
    report = json.loads(printed.out)
    assert report["equal"] == {
        "CTranslate2 float32": [4, 4],
        "CTranslate2 int8": [3, 3],
    }
    assert all(len(row["rounds"]) == 3 for row in report["seconds"])
    row = "| CTranslate2 int8 | 3 | 3 | 30.00 (29.00 to 31.50) |"
    assert row in printed.err
    kinds = [words[0] for words in commands]
    # Two exports; three ways, two beams, three rounds; then the comparison.
    assert kinds.count("export") == 2
    assert kinds.count("evaluate") == 3
    assert kinds.count("translate") == 18 + 6
