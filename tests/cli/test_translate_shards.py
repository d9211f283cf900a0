"""`translate-shards`: the same as `translate`, whatever happens."""

import pytest

from keras_transformer.translation.request import Hypothesis, Translation
from keras_transformer.translation.workers import RunTranslatorFactory
from tests.cli.conftest import call

WORDS = ("zero", "one", "two", "three", "four", "five")
# A batch of 2 makes shards of hundreds of lines.
OPTIONS = ("--batch-size=2", "--beam-size=1", "--workers=1")


@pytest.fixture(autouse=True)
def no_array(monkeypatch):
    """The machine of the tests may be a task of an array itself."""
    for name in ("SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"):
        monkeypatch.delenv(name, raising=False)


def text(count):
    return "".join(
        " ".join(WORDS[(i // 6**j) % 6] for j in range(i % 5)) + "\n"
        for i in range(count)
    )


@pytest.fixture
def source(write):
    return write("in.txt", text(350))


def shout(lines):
    """As a model would, with prefixes or without, but at once."""
    texts = [
        " ".join(line) if isinstance(line, tuple) else line for line in lines
    ]
    return [
        Translation(text, [Hypothesis(text.upper(), 0.0)], len(text) > 100)
        for text in texts
    ]


@pytest.fixture
def translate(translate_by_model, monkeypatch):
    """Translates to upper case; the rest is as it is."""
    monkeypatch.setattr(RunTranslatorFactory, "__call__", lambda _: shout)
    return translate_by_model


@pytest.fixture
def translate_by_model(run, source, tmp_path):
    """Translates in this process; the output's bytes, None if there is none.

    Without shards to whole.txt.
    """

    def translate(*options, shards=None, input=source, status=0):
        out, command = tmp_path / "whole.txt", ["translate"]
        if shards:
            out = tmp_path / "out.txt"
            command = ["translate-shards", f"--shards={shards}"]
        files = ["--run", run, "--input", input, "--output", out]
        call(*command, *files, *OPTIONS, *options, status=status)
        return out.read_bytes() if out.exists() else None

    return translate


@pytest.mark.medium
@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--n-best=2", "--scores", "--beam-size=3"],
        pytest.param(["--json", "--scores"], marks=pytest.mark.slow),
    ],
    ids=["text", "n-best", "JSON"],
)
def test_the_same_as_without_shards(translate_by_model, tmp_path, options):
    expected = translate_by_model(*options)
    assert translate_by_model(*options, shards=3) == expected
    assert expected.count(b"\n") >= 350
    assert not list(tmp_path.glob("*.shards"))


def test_the_same_with_prefixes(translate, write):
    options = [f"--prefix={write('prefixes.txt', ['one', ''] * 175)}"]
    expected = translate(*options)
    assert translate(*options, shards=3) == expected


@pytest.mark.slow
def test_an_export_translates_in_shards(export, source, tmp_path):
    outputs = []
    for command in (["translate"], ["translate-shards", "--shards=2"]):
        out = tmp_path / "out.txt"
        files = ["--saved-model", export, "--input", source, "--output", out]
        call(*command, *files, *OPTIONS)
        outputs.append(out.read_bytes())
    assert outputs[0] == outputs[1]


def cut(path):
    path.write_bytes(path.read_bytes()[:400])


def test_an_array_of_tasks_and_a_join(translate, monkeypatch, capsys, tmp_path):
    expected = translate()
    translate("--shard=2", shards=4)
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "1")
    assert translate(shards=4) is None
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "3")
    assert translate(shards=4) is None
    assert "shard 3 of 4" in capsys.readouterr().err
    assert translate("--join", status=2, shards=4) is None
    said = capsys.readouterr().err
    assert "1 of 4 shards are missing or damaged: 0. Acc" in said
    assert translate("--shard=0", shards=4) is None
    cut(tmp_path / "out.txt.shards" / "00002-of-00004")
    assert translate("--join", status=2, shards=4) is None
    assert "missing or damaged: 2. Acc" in capsys.readouterr().err
    # Whichever task of an array this is.
    assert translate("--shard=all", shards=4) == expected


def test_files_of_others_stay(translate, tmp_path):
    expected = translate()
    translate("--shard=1", shards=4)
    folder = tmp_path / "out.txt.shards"
    for name in ("joined.json", "thesis.tex"):
        (folder / name).write_text("{}")
    assert translate(shards=4) == expected
    left = sorted(path.name for path in folder.iterdir())
    assert left == ["joined.json", "thesis.tex"]


def test_a_long_line_is_told_by_its_number(translate, write, capsys):
    path = write("long.txt", [*["one"] * 150, "two " * 30])
    translate(input=path, shards=2)
    said = capsys.readouterr().err
    assert "long.txt: 1 truncated lines (number 151): more" in said


def test_other_options_and_inputs_are_refused(translate, source, capsys):
    translate("--shard=0", shards=2)
    for option, says in (
        ("--beam-size=2", "beam_size 1 and not 2"),
        ("--n-best=1", "n_best None and not 1"),
        ("--weights=last", "another model"),
    ):
        translate(option, status=2, shards=2)
        said = capsys.readouterr().err.splitlines()[-1]
        assert f"out.txt.shards: begun with {says}. Accepted: " in said
    source.write_text(text(351))
    translate(status=2, shards=2)
    assert "begun with another input" in capsys.readouterr().err
