"""Tables of Spark's: the pairs, and what the queries make of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from keras_transformer.data.selection import Step

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class SparkTables:
    """As `Database`: views, each computed once, on the workers' disks.

    Args:
        spark: a session.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._frames: dict[str, DataFrame] = {}

    def fill(
        self,
        table: str,
        types: Mapping[str, str],
        chunks: Iterable[Mapping[str, Any]],
    ) -> None:
        """See `Database.fill`. This process holds all rows."""
        rows: list[tuple] = []
        for chunk in chunks:
            # NumPy's own text would have the longest one's room for each.
            columns = (np.asarray(chunk[name], object) for name in types)
            rows += zip(*map(np.ndarray.tolist, columns), strict=True)
        schema = ", ".join(f"{name} {kind}" for name, kind in types.items())
        self.view(table, self._spark.createDataFrame(rows, schema))

    def view(self, table: str, frame: DataFrame) -> None:
        """Has a DataFrame be a table."""
        frame.createOrReplaceTempView(table)
        self._frames[table] = frame

    def make(self, step: Step) -> int:
        """Makes a table by a query; the number of its rows."""
        from pyspark import StorageLevel

        frame = self._spark.sql(step.query).persist(StorageLevel.DISK_ONLY)
        self.view(step.table, frame)
        return frame.count()

    def drop(self, table: str) -> None:
        """Removes a table."""
        self._spark.catalog.dropTempView(table)
        self._frames.pop(table).unpersist()

    def number(self, query: str) -> int:
        """The one number that a query gives."""
        return self._spark.sql(query).first()[0]

    def arrays(self, query: str) -> list[np.ndarray]:
        """The columns that a query gives, each `(N,)`."""
        table = self._spark.sql(query).toArrow()
        return [column.to_numpy() for column in table.columns]

    def close(self) -> None:
        """Removes all tables."""
        for table in [*self._frames]:
            self.drop(table)
