"""Key tables: the numbers of all pairs in DuckDB, on disk.

Memory is bounded, whatever the corpus: what doesn't fit is written beside the
database. The SQL is that of `data.selection`.
"""

import contextlib
import errno
import os
import pathlib
import tempfile
from collections.abc import Iterator, Mapping

import duckdb
import numpy as np

from keras_transformer.data.selection import Step

# Rows that wait in memory before they are inserted together.
_WAITING = 1 << 18
_THREAD_MEMORY = 128 << 20  # bytes, what DuckDB advises at least
_LEAST_MEMORY = 512 << 20
_MOST_THREADS = 8


class KeyTables:
    """Tables of a new database.

    Args:
        folder: for the database and what doesn't fit in memory.
        threads: that DuckDB uses, at most.

    Raises:
        OSError: of all methods, the disk is full or fails.
    """

    def __init__(self, folder: pathlib.Path, threads: int) -> None:
        threads = min(threads, _MOST_THREADS)
        memory = max(_LEAST_MEMORY, threads * _THREAD_MEMORY)
        # DuckDB takes what follows a "?" for options, of links, too: then all
        # of the tables is in memory, or spilled from there.
        in_memory = "?" in os.path.realpath(folder)
        with contextlib.ExitStack() as stack, _system_errors():
            path = stack.enter_context(_in_utf8(folder))
            self._connection = duckdb.connect(
                ":memory:" if in_memory else f"{path}/keys.duckdb",
                config={
                    "memory_limit": f"{memory}B",
                    "threads": threads,
                    "temp_directory": f"{path}/spill",
                    "preserve_insertion_order": False,
                },
            )
            # Where it can't have one, as in Jupyter without ipywidgets, it
            # refuses to be told so.
            with contextlib.suppress(duckdb.InvalidInputException):
                self._connection.execute("SET enable_progress_bar = false")
            self._opened = stack.pop_all()
        self._waiting: dict = {}

    def close(self) -> None:
        """Closes the database; its files stay."""
        self._connection.close()
        self._opened.close()

    def create(self, table: str, **columns: str) -> None:
        """Makes an empty table of columns with these types."""
        types = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        with _system_errors():
            self._connection.execute(f"CREATE TABLE {table} ({types})")
        self._waiting[table] = {name: [] for name in columns}

    def insert(self, table: str, columns: Mapping[str, np.ndarray]) -> None:
        """Adds rows to a table that `create` has made.

        Args:
            table: its name.
            columns: for each column, its `(N,)` values.
        """
        waiting = self._waiting[table]
        for name, parts in waiting.items():
            parts.append(columns[name])
        if sum(map(len, parts)) >= _WAITING:
            self._insert_waiting(table)

    def make(self, step: Step) -> int:
        """Makes a table by a query; the number of its rows."""
        self.insert_all()
        with _system_errors():
            self._connection.execute(
                f"CREATE TABLE {step.table} AS {step.query}"
            )
        return self.number(f"SELECT count(*) FROM {step.table}")

    def drop(self, table: str) -> None:
        """Removes a table, and what waits for it."""
        self._waiting.pop(table, None)
        with _system_errors():
            self._connection.execute(f"DROP TABLE {table}")

    def number(self, query: str) -> int:
        """The one number that a query gives."""
        self.insert_all()
        with _system_errors():
            (number,) = self._connection.execute(query).fetchall()[0]
        return number

    def arrays(self, query: str) -> list[np.ndarray]:
        """The columns that a query gives, each `(N,)`."""
        self.insert_all()
        with _system_errors():
            return list(self._connection.execute(query).fetchnumpy().values())

    def insert_all(self) -> None:
        """Inserts the rows that wait."""
        for table in self._waiting:
            self._insert_waiting(table)

    def _insert_waiting(self, table):
        waiting = self._waiting[table]
        rows = {
            name: np.concatenate(parts)
            for name, parts in waiting.items()
            if parts
        }
        if not any(map(len, rows.values())):
            return
        with _system_errors():
            self._connection.register("waiting_rows", rows)
            self._connection.execute(
                f"INSERT INTO {table} SELECT {', '.join(rows)} "
                "FROM waiting_rows"
            )
            self._connection.unregister("waiting_rows")
        for parts in waiting.values():
            parts.clear()


@contextlib.contextmanager
def _in_utf8(folder: pathlib.Path) -> Iterator[str]:
    """Yields a path in UTF-8, as DuckDB needs it: of a link to the folder."""
    path = os.path.realpath(folder)
    try:
        path.encode()
    except UnicodeEncodeError:
        with tempfile.TemporaryDirectory() as links:
            link = pathlib.Path(links) / "link"
            link.symlink_to(path)
            yield str(link)
        return
    yield path


@contextlib.contextmanager
def _system_errors() -> Iterator[None]:
    """Turns DuckDB's errors of a disk into the system's."""
    try:
        yield
    except duckdb.Error as error:
        text = str(error).partition("\n")[0]
        # It runs out of memory when it may write no more beside it.
        out_of_memory = isinstance(error, duckdb.OutOfMemoryException)
        if out_of_memory or "No space left" in text:
            raise OSError(errno.ENOSPC, text) from error
        if isinstance(error, duckdb.IOException):
            raise OSError(errno.EIO, text) from error
        raise
