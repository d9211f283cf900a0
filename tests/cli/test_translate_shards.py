"""`translate --shards`: the same as without, whatever happens."""

import gzip
import os
import signal
import time

import pytest

from keras_transformer.cli.main import main
from keras_transformer.translation.request import Hypothesis, Translation
from keras_transformer.translation.workers import RunTranslatorFactory
from tests.cli.conftest import start
from tests.processes import children, is_worker

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
def source(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text(text(350))
    return path


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
    """Translates in this process; the output's bytes, None if there is none."""

    def translate(*options, input=source, out="out.txt", status=0):
        out = tmp_path / out
        command = ["translate", "--run", run, "--input", input]
        command += ["--output", out, *OPTIONS, *options]
        assert main([str(word) for word in command]) == status
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
    expected = translate_by_model(*options, out="whole.txt")
    assert translate_by_model("--shards=3", *options) == expected
    assert expected.count(b"\n") >= 350
    assert not list(tmp_path.glob("*.shards"))


def test_the_same_with_prefixes(translate, tmp_path):
    prefixes = tmp_path / "prefixes.txt"
    prefixes.write_text("".join(["one\n", "\n"][i % 2] for i in range(350)))
    options = [f"--prefix={prefixes}"]
    expected = translate(*options, out="whole.txt")
    assert translate("--shards=3", *options) == expected


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", 0),
        (b"one two", 1),
        (text(250).replace("\n", "\r\n").encode(), 250),
        (text(250).encode() + b"one", 251),
        (b"\n" * 250, 250),
    ],
    ids=["empty", "a line", "CR LF", "no last newline", "blank"],
)
@pytest.mark.parametrize("kind", ["plain", "gzip"])
def test_texts_of_any_form(translate, tmp_path, content, lines, kind):
    path = tmp_path / "text"
    path.write_bytes(gzip.compress(content) if kind == "gzip" else content)
    expected = translate(input=path, out="whole.txt")
    assert expected.count(b"\n") == lines
    assert translate("--shards=3", input=path) == expected


@pytest.mark.slow
def test_an_export_translates_in_shards(export, source, tmp_path):
    outputs = []
    for options in ([], ["--shards=2"]):
        out = tmp_path / "out.txt"
        command = ["translate", "--saved-model", export, "--input", source]
        command += ["--output", out, *OPTIONS, *options]
        assert main([str(word) for word in command]) == 0
        outputs.append(out.read_bytes())
    assert outputs[0] == outputs[1]


def cut(path):
    path.write_bytes(path.read_bytes()[:400])


def test_an_array_of_tasks_and_a_join(translate, monkeypatch, capsys, tmp_path):
    expected = translate(out="whole.txt")
    translate("--shards=4", "--shard=2")
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "1")
    assert translate("--shards=4") is None
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "3")
    assert translate("--shards=4") is None
    assert "shard 3 of 4" in capsys.readouterr().err
    assert translate("--shards=4", "--join", status=2) is None
    assert (
        "1 of 4 shards are missing or damaged: 0. Acc"
        in capsys.readouterr().err
    )
    assert translate("--shards=4", "--shard=0") is None
    cut(tmp_path / "out.txt.shards" / "00002-of-00004")
    assert translate("--shards=4", "--join", status=2) is None
    assert "missing or damaged: 2. Acc" in capsys.readouterr().err
    # Whichever task of an array this is.
    assert translate("--shards=4", "--shard=all") == expected


def test_a_line_that_is_not_utf8_is_refused_at_the_start(
    refuses, run, source, tmp_path
):
    """A mended input is another one: all shards would begin again."""
    lines = source.read_bytes().splitlines(keepends=True)
    lines[120] = b"\xff\n"
    source.write_bytes(b"".join(lines))
    command = ["translate", "--run", run, "--input", source, "--shards=4"]
    refuses(
        *command, f"--output={tmp_path / 'o'}", says=["line 121: invalid UTF-8"]
    )


def test_a_damaged_shard_is_translated_again(translate, tmp_path, capsys):
    expected = translate(out="whole.txt")
    for number in range(4):
        translate("--shards=4", f"--shard={number}")
    cut(tmp_path / "out.txt.shards" / "00002-of-00004")
    assert translate("--shards=4") == expected
    said = capsys.readouterr().err
    assert "shard 2 failed (try 1 of 3): " in said


def test_files_of_others_stay(translate, tmp_path):
    expected = translate(out="whole.txt")
    translate("--shards=4", "--shard=1")
    folder = tmp_path / "out.txt.shards"
    for name in ("joined.json", "thesis.tex"):
        (folder / name).write_text("{}")
    assert translate("--shards=4") == expected
    left = sorted(path.name for path in folder.iterdir())
    assert left == ["joined.json", "thesis.tex"]


def test_a_long_line_is_told_by_its_number(translate, tmp_path, capsys):
    path = tmp_path / "long.txt"
    path.write_text("one\n" * 150 + "two " * 30 + "\n")
    translate("--shards=2", input=path)
    said = capsys.readouterr().err
    assert "long.txt: 1 truncated lines (number 151): more" in said


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--beam-size=2"], "beam_size 1 and not 2"),
        (["--n-best=1"], "n_best None and not 1"),
        (["--weights=last"], "another model"),
    ],
    ids=["search", "request", "weights"],
)
def test_other_options_and_inputs_are_refused(
    translate, source, capsys, options, says
):
    translate("--shards=2", "--shard=0")
    translate("--shards=2", *options, status=2)
    said = capsys.readouterr().err.splitlines()[-1]
    assert f"out.txt.shards: begun with {says}. Accepted: " in said
    source.write_text(text(351))
    translate("--shards=2", status=2)
    assert "begun with another input" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--shard=1"], ["--shard goes with --shards"]),
        (["--join"], ["--join goes with --shards"]),
        (["--retries=1"], ["--retries goes with --shards"]),
        (["--shards=0"], ["--shards: must be 1 or more", "0"]),
        (["--shards=2"], ["--shards needs --output"]),
        (["--shards=2", "--output=O"], ["O: is a folder. Accepted: a file"]),
        (["--shards=2", "--output=o", "--shard=2"], ["--shard", "0 to 1", "2"]),
        (["--shards=2", "--output=o", "--shard=x"], ["--shard", "0 to 1", "x"]),
        (["--shards=2", "--output=o", "--retries=-1"], ["--retries", "-1"]),
        (["--shards=2", "--output=o", "--join", "--shard=1"], ["--join"]),
        (["--shards=2", "--output=o", "--join"], ["o.shards: isn't there"]),
    ],
    ids=lambda value: " ".join(value),
)
def test_bad_usage(refuses, run, source, tmp_path, monkeypatch, options, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "O").mkdir()
    command = ["translate", "--run", run, "--input", source, *options]
    refuses(*command, says=says)
    assert sorted(os.listdir()) == ["O", "in.txt"]
    shards = ["--shards=2", "--output=o"]
    refuses(*command[:3], *shards, says=["--shards needs --input"])
    command = ["translate", "--server=http://x", "--input", source, *shards]
    refuses(*command, says=["--shards goes with --run or --saved-model or"])


def test_a_run_that_is_none_leaves_nothing(refuses, source, tmp_path):
    out = tmp_path / "out.txt"
    command = ["translate", "--run", tmp_path / "no", "--input", source]
    refuses(*command, "--shards=2", f"--output={out}", says=["no", "No such"])
    assert not list(tmp_path.glob("out*"))


def shards_in(folder):
    return sorted(path.name for path in folder.glob("*-of-*"))


def wait_for_shards(process, folder, count):
    deadline = time.monotonic() + 300
    while len(shards_in(folder)) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.slow
def test_three_kills_and_two_processes_change_nothing(
    run, translate_by_model, source, tmp_path
):
    """SIGKILL strikes processes with workers, wherever they are."""
    source.write_text(text(6_000))
    expected = translate_by_model(out="whole.txt")
    folder = tmp_path / "out.txt.shards"
    out = tmp_path / "out.txt"
    command = ["translate", "--run", run, "--input", source, "--output", out]
    command += ["--batch-size=2", "--beam-size=1", "--shards=40"]
    command += ["--workers=2"]
    for kill in range(3):
        process = start(*command, start_new_session=True)
        wait_for_shards(process, folder, 8 * (kill + 1))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert not out.exists()
    processes = [start(*command) for _ in range(2)]
    for process in processes:
        _, err = process.communicate()
        assert process.returncode == 0, err
    assert out.read_bytes() == expected
    assert not folder.exists()
    assert not list(tmp_path.glob(".tmp-*"))


@pytest.mark.slow
def test_a_worker_that_dies_costs_one_more_try(
    run, translate_by_model, source, tmp_path
):
    source.write_text(text(6_000))
    expected = translate_by_model(out="whole.txt")
    out = tmp_path / "out.txt"
    command = ["translate", "--run", run, "--input", source, "--output", out]
    command += ["--batch-size=2", "--beam-size=1", "--shards=12"]
    process = start(*command, "--workers=2")
    wait_for_shards(process, tmp_path / "out.txt.shards", 1)
    worker = next(filter(is_worker, children(process.pid)))
    os.kill(worker, signal.SIGKILL)
    _, err = process.communicate()
    assert process.returncode == 0, err
    assert f"(process {worker}) was killed by SIGKILL" in err
    assert "(try 1 of 3)" in err
    assert out.read_bytes() == expected
