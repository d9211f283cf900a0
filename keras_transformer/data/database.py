"""Database: DuckDB, which sorts and joins in bounded memory.

Each process has its own database, which spills data that doesn't fit in memory
to the folder of the Parquet files that the processes exchange.
"""

import contextlib
import errno
import os
import pathlib
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import duckdb
import numpy as np

from keras_transformer.data.selection import Step

CHUNK = 4096  # rows that are handled together
# Rows of a Parquet file that are read or skipped together. DuckDB holds as many
# in memory to write them, and a row may be long.
_ROW_GROUP = 2_048
_THREAD_MEMORY = 128 << 20  # bytes, the minimum that DuckDB recommends
_LEAST_MEMORY = 512 << 20
_MOST_THREADS = 8


class Database:
    """Tables and views in memory, or spilled to a folder.

    Args:
        folder: for data that doesn't fit in memory; must be a `plain_path`.
        threads: maximum number of threads that DuckDB uses.

    Raises:
        OSError: by all methods, if the disk is full or fails.
    """

    def __init__(self, folder: pathlib.Path, threads: int) -> None:
        threads = min(threads, _MOST_THREADS)
        memory = max(_LEAST_MEMORY, threads * _THREAD_MEMORY)
        self._options: dict[str, Any] = {
            "memory_limit": f"{memory}B",
            "threads": threads,
            # A folder for each database, as their files have the same names.
            "temp_directory": tempfile.mkdtemp(prefix="spill-", dir=folder),
        }
        self.open()

    def open(self) -> None:
        """Opens an empty database."""
        self._connection = duckdb.connect(config=self._options)
        # DuckDB refuses this setting where a progress bar isn't available, as
        # in Jupyter without ipywidgets.
        with contextlib.suppress(duckdb.InvalidInputException):
            self._connection.execute("SET enable_progress_bar = false")

    def close(self) -> None:
        """Closes the database and drops its tables."""
        self._connection.close()

    def fill(
        self,
        table: str,
        types: Mapping[str, str],
        chunks: Iterable[Mapping[str, Any]],
    ) -> None:
        """Creates a table from rows.

        Args:
            table: the table's name.
            types: SQL types by column.
            chunks: some rows each, as `(N,)` values by column.
        """
        columns = ", ".join(f"{name} {kind}" for name, kind in types.items())
        self._execute(f"CREATE TABLE {table} ({columns})")
        for chunk in chunks:
            with self._registered(chunk):
                self._execute(
                    f"INSERT INTO {table} SELECT {', '.join(types)} FROM chunk"
                )

    def write(self, path: pathlib.Path, rows: Mapping[str, Any]) -> None:
        """Writes rows, as `(N,)` values by column, to a Parquet file."""
        with self._registered(rows):
            self.copy("SELECT * FROM chunk", path)

    def copy(self, query: str, path: pathlib.Path) -> None:
        """Writes the result of a query to a Parquet file, in order."""
        self._execute(
            f"COPY ({query}) TO '{path}' "
            f"(FORMAT parquet, ROW_GROUP_SIZE {_ROW_GROUP})"
        )

    def view(self, table: str, files: pathlib.Path) -> None:
        """Makes Parquet files a table; `files` may be a pattern with *."""
        query = f"SELECT * FROM read_parquet('{files}')"
        self._execute(f"CREATE VIEW {table} AS {query}")

    def make(self, step: Step) -> int:
        """Creates a table by a query, and returns the number of its rows."""
        self._execute(f"CREATE TABLE {step.table} AS {step.query}")
        return self.number(f"SELECT count(*) FROM {step.table}")

    def drop(self, table: str) -> None:
        """Removes a table."""
        self._execute(f"DROP TABLE {table}")

    def number(self, query: str) -> int:
        """Returns the single number in the result of a query."""
        with _system_errors():
            return self._connection.execute(query).fetchall()[0][0]

    def arrays(self, query: str) -> list[np.ndarray]:
        """Returns the columns of the result of a query, each `(N,)`."""
        with _system_errors():
            result = self._connection.execute(query)
            return list(result.fetchnumpy().values())

    def rows(self, query: str) -> Iterator[list[tuple]]:
        """Yields lists of the rows in the result of a query."""
        with _system_errors():
            result = self._connection.execute(query)
            while rows := result.fetchmany(CHUNK):
                yield rows

    def _execute(self, query):
        with _system_errors():
            self._connection.execute(query)

    @contextlib.contextmanager
    def _registered(self, rows):
        """Makes rows available as the table `chunk` in the block."""
        arrays = {
            name: values
            if isinstance(values, np.ndarray)
            else np.array(values, object)
            for name, values in rows.items()
        }
        self._connection.register("chunk", arrays)
        yield
        self._connection.unregister("chunk")


@contextlib.contextmanager
def plain_path(folder: pathlib.Path) -> Iterator[pathlib.Path]:
    """Yields a path of the folder without special characters of DuckDB.

    If the folder's own path has any, such as * or ?, or isn't UTF-8, it is the
    path of a temporary symbolic link.
    """
    path = os.path.realpath(folder)
    if _is_plain(path):
        yield pathlib.Path(path)
        return
    usual = os.path.realpath(tempfile.gettempdir())
    place = usual if _is_plain(usual) else "/tmp"
    with tempfile.TemporaryDirectory(dir=place) as links:
        link = pathlib.Path(links) / "link"
        link.symlink_to(path)
        yield link


def _is_plain(path):
    return re.fullmatch(r"[\w/. -]+", path)


@contextlib.contextmanager
def _system_errors() -> Iterator[None]:
    """Turns DuckDB's disk errors into `OSError`."""
    try:
        yield
    except duckdb.Error as error:
        text = str(error).partition("\n")[0]
        # On a full disk, DuckDB may report that it can't offload memory.
        if "offload" in text or "No space left" in text:
            raise OSError(errno.ENOSPC, text) from error
        if isinstance(error, duckdb.OutOfMemoryException):
            raise OSError(errno.ENOMEM, text) from error
        if isinstance(error, duckdb.IOException):
            said = re.search(r'"errno":"(\d+)"', text)
            code = int(said[1]) if said else errno.EIO
            raise OSError(code, text) from error
        raise
