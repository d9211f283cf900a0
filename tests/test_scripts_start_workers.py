"""Scripts without `if __name__ == "__main__":` start workers, and run once."""

import pytest

from tests.processes import run_python
from tests.toy_runs import prepare_words, untrained_run

BEGIN = """import keras_transformer as kt
from keras_transformer.config.data import DataConfig
open("executed", "a").write("once\\n")
"""
PREPARE = """
words = {f"{side}_tokenizer": "word" for side in ("source", "target")}
config = DataConfig(source_language="en", target_language="fr", **words)
data = kt.prepare("train.tsv", "prepared", config, dev=0.2, workers=2)
print("made", data.path)
"""
# The run was never trained, and its translations have no end.
DISTILL = """
try:
    kt.distill("run", "data", "distilled", workers=2)
except ValueError as error:
    print("made", error)
"""
SHOUT = """
from keras_transformer.system.workers import Workers
from tests.toy_models import Shout
with Workers(Shout(), 2, doing="shouting") as workers:
    print("made", *workers.map([["a"], ["b"]]))
"""
# What the workers are to do is of the script itself.
OWN = """
from keras_transformer.errors import InputError
from keras_transformer.system.workers import Workers

def own():
    return str.upper

try:
    Workers(own, 1, doing="shouting").__enter__()
except InputError as error:
    print("made", error)
"""


LINES = [f"one two {'three ' * (n % 5)}{n}\tun {n}\n" for n in range(60)]


def run_script(folder, text, how):
    """Runs a script in the folder; what it printed, in words."""
    script = folder / "script.py"
    script.write_text(BEGIN + text)
    words = {
        "file": ["script.py"],
        "stdin": ["-"],
        "module": ["-m", "script"],
        "interactive": ["-i", "-q"],
    }[how]
    # A notebook's and a prompt's lines end at an empty one.
    typed = (BEGIN + text).replace("\n\n", "\n")
    stdin = "" if how in ("file", "module") else typed
    done = run_python(*words, folder=folder, stdin=stdin)
    executed = (folder / "executed").read_text()
    assert executed == "once\n", done.stderr
    return done.stdout


@pytest.mark.medium
def test_a_script_prepares_by_workers(tmp_path):
    (tmp_path / "train.tsv").write_text("".join(LINES))
    assert "made prepared" in run_script(tmp_path, PREPARE, "file")


@pytest.mark.medium
def test_a_script_distills_by_workers(tmp_path):
    prepare_words(tmp_path, LINES, 0.2)
    untrained_run(tmp_path / "run", tmp_path / "data")
    assert "no sentence pair is left" in run_script(tmp_path, DISTILL, "file")


@pytest.mark.parametrize("how", ["file", "stdin", "module", "interactive"])
def test_a_script_starts_workers(tmp_path, how):
    assert "made ['A'] ['B']" in run_script(tmp_path, SHOUT, how)


def test_a_function_of_the_script_is_refused_in_one_line(tmp_path):
    out = run_script(tmp_path, OWN, "file")
    assert out.startswith("made what a worker is to call"), out
    assert "another module than __main__" in out
