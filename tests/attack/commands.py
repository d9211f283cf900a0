"""The commands that write files: how they are run, and what is whole."""

import dataclasses
import importlib.util
import json
import pathlib
import shutil
from collections.abc import Callable

from keras_transformer.data.prepared import PreparedData
from keras_transformer.system.files import read_json
from keras_transformer.training.run import Run
from tests.cli.conftest import DATA_OPTIONS, TRAIN_OPTIONS
from tests.importing.conftest import unpack

_LINES = 200  # of the text that is translated


@dataclasses.dataclass(frozen=True)
class Command:
    """A command that writes into a folder of its own.

    Attributes:
        words: of the command line; `{out}` is the folder.
        check: raises unless what the folder holds is whole; told of a folder
            that isn't empty.
        begin: makes the folder as it is before the command; None: the command
            makes it.
        again: words beside `words` where the command had begun before.
    """

    words: list[str]
    check: Callable[[pathlib.Path], object]
    begin: Callable[[pathlib.Path], object] | None = None
    again: tuple[str, ...] = ()

    def line(self, out: pathlib.Path) -> list[str]:
        """The command line with a folder."""
        words = [word.format(out=out) for word in self.words]
        return [*words, *(self.again if self.has_begun(out) else ())]

    def has_begun(self, out: pathlib.Path) -> bool:
        """Whether an earlier one has to be gone on with."""
        return bool(self.again) and (out / "manifest.json").exists()


def every_command(corpus, data, run, export, folder) -> dict[str, Command]:
    """All that can be run here, by name.

    Args:
        corpus: folder of TSV files `train.tsv` and `dev.tsv`.
        data: prepared data.
        run: a trained run of it.
        export: a model's folder with the version 1.
        folder: for what the commands read beside.
    """
    text = folder / "in.txt"
    text.write_text("one two three four\nfive\n" * (_LINES // 2))
    places = {
        **{"corpus": corpus, "data": data, "run": run, "export": export},
        **{"text": text, "marian": unpack("base", folder / "marian")},
    }

    def command(words, check, *more, **options):
        words = [w.format(**places, out="{out}") for w in words.split()]
        return Command([*words, *more], check, **options)

    def nothing(out):
        pass

    def copied(out):
        shutil.copytree(export, out / "model")

    def started(out):
        shutil.copytree(run, out, dirs_exist_ok=True)

    def prepared(out):
        PreparedData.load(out).verify()

    train = "train --data {data} --out {out} --epochs"
    lines = "--run {run} --input {text} --output {out}/out.txt "
    lines += "--beam-size=1 --batch-size=2 --workers=1"
    exports = "export --run {run} --out {out}/model"
    resumed = {"again": ("--resume",)}
    commands = {
        "prepare": command(
            "prepare --train {corpus}/train.tsv --out {out}",
            *(prepared, *DATA_OPTIONS),
        ),
        "train": command(f"{train}=1", _whole_run, *TRAIN_OPTIONS, **resumed),
        "train --resume": command(
            *(f"{train}=2", _trained_run, *TRAIN_OPTIONS),
            begin=started,
            **resumed,
        ),
        "translate": command(f"translate {lines}", _whole_text, begin=nothing),
        "translate-shards": command(
            f"translate-shards --shards=4 {lines}", _whole_text, begin=nothing
        ),
        "distill": command(
            "distill --teacher {run} --data {data} --out {out} --beam-size=1 "
            "--workers=1",
            prepared,
        ),
        "evaluate --report": command(
            "evaluate --run {run} --input {corpus}/dev.tsv --beam-size=1 "
            "--output {out}/out.txt --report {out}/report.html",
            _whole_report,
            begin=nothing,
        ),
        "export": command(exports, _json_files),
        "export --format keras": command(
            f"{exports} --format=keras", _json_files
        ),
        "versions label": command(
            *("versions {out}/model label stable 1", _json_files), begin=copied
        ),
        "versions publish": command(
            *("versions {out}/model publish {export}/1", _json_files),
            begin=copied,
        ),
        "import": command(
            "import {marian} --out {out} --source-language=eng "
            "--target-language=zho",
            _whole_run,
        ),
    }
    if importlib.util.find_spec("ctranslate2"):
        commands["export --format ctranslate2"] = command(
            f"{exports} --format=ctranslate2", _json_files
        )
    if importlib.util.find_spec("matplotlib"):
        commands["plot"] = command(
            "plot attention-cross --run {run} --text=one --out {out}/a.svg",
            *(nothing,),
            begin=nothing,
        )
    return commands


def _whole_run(out):
    """What has been written of a run can be gone on with."""
    run = Run.load(out)
    run.history()
    for path in (out / "weights").glob("*.h5"):
        run.check_weights(path.name.partition(".")[0])
    return run


def _trained_run(out):
    """A run whose training isn't lost: its weights are there."""
    run = _whole_run(out)
    run.load_model("best")
    assert run.history()
    assert (out / "checkpoint.npz").exists()


def _whole_text(out):
    path = out / "out.txt"
    if path.exists():
        assert len(path.read_text().splitlines()) == _LINES


def _whole_report(out):
    path = out / "report.html"
    if path.exists():
        assert path.read_text("utf-8").rstrip().endswith("</html>")


def _json_files(out):
    for path in out.rglob("*.json"):
        if not any(part.startswith(".") for part in path.parts):
            json.dumps(read_json(path))
