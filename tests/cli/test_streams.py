"""Streams that are closed, full, or that nobody reads any more."""

import gzip
import io
import os
import subprocess
import sys

import pytest

from keras_transformer.data.lines import decoded_lines
from keras_transformer.errors import InputError
from keras_transformer.training.run import Run
from tests.cli.conftest import (
    DATA_OPTIONS,
    ROOT,
    TRAIN_OPTIONS,
    read_prepared,
)


def run(*arguments, change="", **options):
    """Runs the command line by a shell, with changes such as `>&-`."""
    command = [sys.executable, "-m", "keras_transformer", *map(str, arguments)]
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {change}', "sh", *command],
        cwd=ROOT,
        timeout=120,
        **options,
    )


def ends_in_one_line(result, says):
    """Exit 2, and stderr has the one line alone."""
    assert result.returncode == 2
    (line,) = result.stderr.decode().splitlines()
    assert line.startswith("keras-transformer: error: ")
    assert says in line


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (">&-", "stdout is closed"),
        ("</dev/null >&-", "stdout is closed"),
        ("<&- >&-", "stdout is closed"),
        (">/dev/full", "No space left on device"),
    ],
)
def test_results_that_go_nowhere(data, change, says):
    result = run("info", data, change=change, stderr=subprocess.PIPE)
    ends_in_one_line(result, says)


def test_stdout_may_be_read_and_written_by_its_path():
    script = (
        "from keras_transformer.cli.console import check_outputs, output_file\n"
        "out = '/dev/stdout'\n"
        "check_outputs([out, out], [out])\n"
        "with output_file(out) as file: file.write('a')\n"
        "print('b')\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True
    )
    assert (result.stdout, result.stderr) == (b"ab\n", b"")


@pytest.mark.medium
def test_a_closed_stdin_is_told_if_it_is_read(tmp_path):
    text = tmp_path / "in.txt"
    text.write_text("a\n")
    command = ["translate", "--run", tmp_path / "no-run"]
    for options, says in (([], "stdin"), (["--input", text], "no-run")):
        result = run(*command, *options, change="<&-", stderr=subprocess.PIPE)
        ends_in_one_line(result, says)


def test_a_closed_stderr_is_nobody_s_file(tmp_path, corpus):
    """What is opened next would have its number, and what is said in it."""
    command = ["prepare", "--train", corpus / "train.tsv", *DATA_OPTIONS]
    result = run(
        *command, "--out", tmp_path / "data", change="2>&-", capture_output=True
    )
    assert result.returncode == 0
    read_prepared(tmp_path / "data")


@pytest.mark.medium
def test_training_goes_on_without_who_read_its_progress(tmp_path, data):
    reader, writer = os.pipe()
    os.close(reader)
    out = tmp_path / "run"
    command = ["train", "--data", data, "--out", out, "--epochs=2"]
    try:
        result = run(*command, *TRAIN_OPTIONS, stderr=writer)
    finally:
        os.close(writer)
    assert result.returncode == 0
    assert [line["epoch"] for line in Run.load(out).history()] == [1, 2]


def test_a_byte_order_mark_is_no_text():
    lines = [b"\xef\xbb\xbfone\n", b"two\n"]
    assert list(decoded_lines(lines, "stdin")) == ["one\n", "two\n"]


@pytest.mark.medium
def test_packed_lines_on_stdin_are_unpacked():
    result = run(
        *["translate", "--run", "no-run"],
        input=gzip.compress(b"a\n"),
        stderr=subprocess.PIPE,
    )
    ends_in_one_line(result, "no-run")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("Good day\nто есть\n".encode("utf-16-le"), "line 1: NUL bytes, as"),
        ("Good day\nто есть\n".encode("utf-16-be"), "line 1: NUL bytes, as"),
        (b"one\rtwo\r", "one line, with CR in it"),
        (b"one\rtwo\r\na", None),
    ],
)
def test_what_are_no_lines_is_refused(content, says):
    lines = decoded_lines(io.BytesIO(content), "stdin")
    if says is None:
        assert list(lines) == ["one\rtwo\r\n", "a"]
    else:
        with pytest.raises(InputError, match=f"^stdin.*{says}"):
            list(lines)
