"""Which commands the measurement of distillation gives."""

import json
import pathlib

import pytest

from keras_transformer.cli.main import build_parser
from scripts.benchmarks.distillation import __main__ as distillation

RATES = {"teacher": [100, 90, 300], "6-1-distilled": [250, 260, 10]}


@pytest.fixture
def call(tmp_path, monkeypatch, capsys):
    """Calls the script; commands are recorded instead of run."""
    for name, count in (("train", 40), ("dev", 4)):
        lines = [f"en {name} {i}\tzh {name} {i}\n" for i in range(count)]
        (tmp_path / f"{name}.tsv").write_text("".join(lines))
    commands, measured = [], []
    out = tmp_path / "out"

    def run(words):
        words = [str(word) for word in words]
        build_parser().parse_args(words)
        commands.append(words)
        if words[0] == "evaluate":
            bleu = 29.0 if "--beam-size=1" in words else 30.0
            scores = {"bleu": bleu, "chrf": 1.0, "cross_entropy": 2.0}
            return json.dumps(scores) + "\n"
        pathlib.Path(words[words.index("--out") + 1]).mkdir(exist_ok=True)

    def measure(setting, run, export, texts):
        name = pathlib.Path(run).name.removesuffix("-run")
        # Greedy search is in any of them.
        beams = [setting.cell.beam] if setting.cell.beam > 1 else [2, 4]
        exported, beam, shortlist = export
        assert exported == run
        assert beam in beams
        assert len(texts) == 4
        name += " among a shortlist" if shortlist else ""
        done = sum(name == other for other, _ in measured)
        measured.append((name, (setting.cell.batch, setting.cell.beam)))
        return {"tokens_per_second": RATES.get(name, [1] * 3)[done % 3]}

    monkeypatch.setattr(distillation.steps, "run", run)
    monkeypatch.setattr(distillation, "measure", measure)
    monkeypatch.setattr(
        distillation,
        "export_forced",
        lambda *arguments: (arguments[1], arguments[-1], arguments[-2]),
    )
    monkeypatch.setattr(distillation, "_parameters", lambda run: 12345)

    def call(*options, given=True, status=0):
        del commands[:], measured[:]
        words = [f"--{name}={tmp_path / name}.tsv" for name in ("train", "dev")]
        if given:
            teacher = tmp_path / "teacher"
            words += [f"--teacher={teacher}", f"--data={tmp_path / 'data'}"]
        words += [f"--out={out}", *options]
        assert distillation.main(words) == status
        return commands, measured, capsys.readouterr().out.splitlines()

    call.out = out
    return call


def test_the_teacher_translates_once_for_all_shapes(call):
    commands, _, table = call("--shapes", "6-1", "8-2", "--cells", "64-4")
    assert [words[0] for words in commands] == [
        *("distill", "train", "train"),
        *("evaluate",) * 6,
    ]
    data = str(call.out / "distilled-data")
    assert commands[0][-1] == data
    for words, layers in zip(commands[1:3], [(6, 1), (8, 2)], strict=True):
        assert words[words.index("--data") + 1] == data
        assert "--preset=fast" in words
        assert f"--set=model.num_encoder_layers={layers[0]}" in words
        assert f"--set=model.num_decoder_layers={layers[1]}" in words
    assert [row.split(" | ")[0] for row in table] == [
        "| model",
        "| ---",
        "| teacher",
        "| 6-1-distilled",
        "| 8-2-distilled",
    ]


def test_what_is_done_is_not_done_again(call):
    _, _, table = call("--shapes", "6-1")
    commands, _, again = call("--shapes", "6-1")
    assert commands == []
    assert again == table
