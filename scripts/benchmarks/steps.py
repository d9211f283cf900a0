"""Experiments of several trainings: each step is a command that is printed.

It runs in a process of its own, and not again if its result is there, so that
an interrupted call goes on where it was.
"""

import json
import pathlib
import shlex
import subprocess
import sys

from keras_transformer.evaluation.significance import score_text
from scripts.benchmarks import command
from scripts.benchmarks.corpus import MISSING, corpus_folder


def begin(options, name: str) -> tuple | None:
    """Makes the folder of an experiment; `quick/` below it for `--quick`.

    Args:
        options: of the command line; `out` is changed.
        name: of the script.

    Returns:
        `--train` and `--dev`, or Tatoeba's files where it is at hand; None:
        neither is there, which is said.
    """
    folder = corpus_folder()
    if folder is None and not (options.train and options.dev):
        command.say(f"{name}: {MISSING}")
        return None
    if options.quick:
        options.out = options.out / "quick"
    options.out.mkdir(parents=True, exist_ok=True)
    return (
        options.train or folder / "train.tsv",
        options.dev or folder / "dev.tsv",
    )


def read_pairs(path) -> list[list[str]]:
    """The pairs of a TSV, as written."""
    lines = pathlib.Path(path).read_text("utf-8").splitlines()
    return [line.split("\t")[:2] for line in lines if line.strip()]


def write_rows(path: pathlib.Path, rows):
    """Writes a TSV, unless it is there with the same rows."""
    text = "".join("\t".join(row) + "\n" for row in rows)
    if not path.is_file() or path.read_text("utf-8") != text:
        path.write_text(text, encoding="utf-8")


def run(words) -> str:
    """The output of a command of the package; its messages are passed on.

    Raises:
        SystemExit: the command failed.
    """
    words = [str(word) for word in words]
    command.say(shlex.join(["keras-transformer", *words]))
    done = subprocess.run(
        [sys.executable, "-m", "keras_transformer", *words],
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{words[0]}: exit status {done.returncode}")
    return done.stdout


def train(data: pathlib.Path, out: pathlib.Path, words):
    """Trains a run to its end, or goes on with one.

    Args:
        data: the prepared folder.
        out: the run; `OUT.trained` says that it has ended.
        words: more of the command.
    """
    trained = out.with_name(f"{out.name}.trained")
    if trained.is_file():
        return
    resume = ["--resume"] if out.exists() else []
    run(["train", "--data", data, "--out", out, *words, *resume])
    trained.touch()


def evaluate(
    model: pathlib.Path, pairs: pathlib.Path, result, *words
) -> list[str]:
    """Scores a run, or takes the scores that `result` has.

    Args:
        model: the run.
        pairs: a TSV.
        result: a file in JSON.
        words: more of the command.

    Returns:
        BLEU and chrF with their intervals, and dev loss, formatted.
    """
    if not result.is_file():
        said = run(
            ["evaluate", "--run", model, "--json", "--input", pairs, *words]
        )
        result.write_text(said.strip().splitlines()[-1], encoding="utf-8")
    scores = json.loads(result.read_text("utf-8"))
    return [
        score_text(scores["bleu"], scores["bleu_interval"]),
        score_text(scores["chrf"], scores["chrf_interval"]),
        f"{scores['cross_entropy']:.3f}",
    ]
