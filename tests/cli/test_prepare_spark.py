"""`prepare --engine spark` from the command line, and addresses of files."""

import json
import sys

import pytest

from tests.cli.conftest import call, start
from tests.data.conftest import contents, pair
from tests.data.test_spark import needs_spark

OPTIONS = ["--preset=demo", "--dev=0.05"]


@pytest.fixture
def corpora(tmp_path):
    """5,000 pairs in two files, some of them in both."""
    folder = tmp_path / "corpora"
    folder.mkdir()
    paths = []
    for name, numbers in {"a": range(4000), "b": range(3000, 5000)}.items():
        path = folder / f"{name}.en-zh.tsv"
        lines = ("\t".join(pair(number)) + "\n" for number in numbers)
        path.write_text("".join(lines), encoding="utf-8")
        paths.append(path)
    return paths


def prepared(*arguments):
    """Runs a process of its own; its exit status and what it said."""
    process = start("prepare", *arguments)
    _, said = process.communicate()
    return process.returncode, said


@pytest.mark.slow
@needs_spark
def test_the_same_files_as_by_one_machine(corpora, tmp_path):
    first, second = corpora
    train = ["--train", first, f"{second}*1.5#BT", *OPTIONS]
    out = tmp_path / "local"
    call("prepare", *train, "--out", out)
    spark = ["--engine=spark", "--master=local[2]", "--out"]
    status, said = prepared(*train, *spark, tmp_path / "spark")
    assert status == 0, said
    assert contents(tmp_path / "spark") == contents(out)
    # And by addresses.
    train = ["--train", first.as_uri(), f"{second.as_uri()}*1.5#BT", *OPTIONS]
    target = tmp_path / "remote" / "data"
    status, said = prepared(*train, *spark, target.as_uri())
    assert status == 0, said
    assert contents(target) == contents(out)


@pytest.mark.slow
@needs_spark
def test_no_cluster_is_told_in_one_line_and_leaves_nothing(corpora, tmp_path):
    options = ["--train", corpora[0], "--out", tmp_path / "out"]
    options += ["--engine=spark", "--master=nonsense"]
    status, said = prepared(*options)
    assert status == 2
    last = said.splitlines()[-1]
    assert last.startswith("keras-transformer: error: ")
    assert "Spark doesn't start at nonsense" in last
    assert "Traceback" not in said
    assert [path.name for path in tmp_path.iterdir()] == ["corpora"]


@pytest.mark.slow
@needs_spark
def test_a_line_larger_than_the_memory_of_java(corpora, tmp_path, monkeypatch):
    path, out = corpora[0], tmp_path / "out"
    with path.open("r+b") as file:
        # Zeros, which take no space on the disk.
        file.seek(300 << 20, 2)
        file.write(b"\n")
        file.write("\t".join(pair(9999)).encode())
    arguments = "--driver-memory 512m pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", arguments)
    options = ["--train", path, "--out", out, "--engine=spark"]
    status, said = prepared(*options, "--master=local[1]")
    assert status == 0, said
    manifest = json.loads((out / "manifest.json").read_text())
    counts = manifest["report"]["cleaning"]["train"]
    assert counts["read"] == 4002
    assert counts["long_line"] == 1


@needs_spark
def test_a_folder_that_is_there_is_refused_before_spark(
    refuses, corpora, tmp_path
):
    out = tmp_path / "out"
    out.mkdir()
    (out / "file").touch()
    for name in (out, out.as_uri()):
        options = ["--train", corpora[0], "--out", name, "--engine=spark"]
        refuses("prepare", *options, says=["exists and isn't empty"])
    assert [path.name for path in out.iterdir()] == ["file"]


def test_one_machine_takes_addresses(corpora, tmp_path, refuses):
    pytest.importorskip("pyarrow", reason="needs pyarrow (extra [spark])")
    path, out = corpora[0], tmp_path / "local"
    call("prepare", "--train", path, "--out", out, *OPTIONS)
    target = tmp_path / "remote"
    words = ["--train", path.as_uri(), "--out", target.as_uri()]
    call("prepare", *words, *OPTIONS)
    assert contents(target) == contents(out)
    manifest = json.loads((target / "manifest.json").read_text())
    assert manifest["input"]["train"][0]["name"] == "a.en-zh.tsv"
    command = ["prepare", *OPTIONS, "--out", tmp_path / "no", "--train"]
    refuses(*command, (tmp_path / "no.tsv").as_uri(), says=["no.tsv: "])
    refuses(*command, "nonsense://a/b.tsv", says=["nonsense://a/b.tsv: "])
    assert not (tmp_path / "no").exists()


def test_addresses_without_pyarrow_are_refused(
    refuses, corpora, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    command = ["prepare", "--train", corpora[0].as_uri()]
    command += ["--out", tmp_path / "out"]
    refuses(*command, says=["pyarrow isn't installed"])
