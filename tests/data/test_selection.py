"""Which pairs are kept, by the SQL that prepares data: in DuckDB."""

import os
import random
import tempfile

import duckdb
import numpy as np
import pytest

from keras_transformer.data.database import Database, plain_path
from keras_transformer.data.keys import pair_keys
from keras_transformer.data.selection import (
    COLUMNS,
    Step,
    dev_steps,
    overlap_query,
)


@pytest.fixture
def tables(tmp_path):
    tables = Database(tmp_path, 2)
    yield tables
    tables.close()


def test_a_notebook_without_widgets_has_tables(tmp_path, failing_queries):
    failing_queries(
        lambda query: "progress_bar" in query,
        duckdb.InvalidInputException("ipywidgets is missing"),
    )
    tables = Database(tmp_path, 1)
    assert tables.number("SELECT 1") == 1
    tables.close()


def fill(tables, table, pairs):
    """Makes a table of pairs; its rows know their pairs by shuffle key."""
    keys = pair_keys(pairs)
    rows = {f"{name}_key": values for name, values in keys._asdict().items()}
    rows["corpus"] = np.zeros(len(pairs), np.int64)
    rows["id"] = np.arange(len(pairs))
    tables.fill(table, dict.fromkeys(COLUMNS, "BIGINT"), [rows])
    return dict(zip(keys.shuffle.tolist(), pairs, strict=True))


def take_dev(tables, pairs, fraction):
    """The pairs of dev, those of training, and how many are in neither."""
    by_key = fill(tables, "rows", pairs)
    for step in dev_steps("rows", len(pairs), fraction):
        tables.make(step)
    splits = [
        [
            by_key[key]
            for key in tables.arrays(
                f"SELECT shuffle_key FROM {split} ORDER BY 1"
            )[0].tolist()
        ]
        for split in ("dev", "train")
    ]
    return *splits, len(pairs) - sum(map(len, splits))


def test_dev_is_whole_sources_up_to_its_share(tables):
    pairs = [(f"source {n // 3}", f"target {n}") for n in range(3000)]
    dev, train, lost = take_dev(tables, pairs, 0.1)
    assert len(dev) == 300
    assert lost == 0
    assert not {source for source, _ in dev} & {source for source, _ in train}


def test_training_has_no_side_of_dev(tables):
    random.seed(4)
    pairs = [
        (f"Source {random.randrange(900)}!", f"target {random.randrange(800)}")
        for _ in range(1500)
    ]
    pairs = list(dict.fromkeys(pairs))
    dev, train, lost = take_dev(tables, pairs, 0.05)
    assert 0.04 * len(pairs) < len(dev) <= 0.05 * len(pairs)
    assert 0 < lost < 2 * len(dev)
    dev_keys, keys = pair_keys(dev), pair_keys(train)
    assert not np.isin(dev_keys.source, keys.source).any()
    assert not np.isin(dev_keys.target, keys.target).any()
    assert tables.number(overlap_query("train", "dev")) == 0


def test_what_many_pairs_share_stays_in_training(tables):
    pairs = [(f"question {n}", "Yes." if n % 2 else f"{n}") for n in range(200)]
    pairs += [("a source of its own", f"target {n}") for n in range(50)]
    dev, _train, lost = take_dev(tables, pairs, 0.1)
    assert len(dev) == 25
    assert lost == 0
    assert all(target.isdigit() for _, target in dev)


ODD_NAMES = [
    b"a?b",
    b"a?access_mode=READ_ONLY",
    b"caf\xe9",
    b"\xff?\n",
    b"a*[1]",
    b"50%",
    b'it\'s "it";',
    b":memory:",
    b"md:a",
    "文".encode(),
]
# One will do, as DuckDB never sees such names.
SPILLING = b'it\'s "it";'
# More than fits in the memory that the tables may take.
SPILLED = (
    "SELECT range, repeat(md5(CAST(range AS VARCHAR)), 20) AS text "
    "FROM range(400000) ORDER BY text"
)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_folder_may_have_the_files(tmp_path, name, monkeypatch):
    folder = tmp_path / os.fsdecode(name)
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with plain_path(folder) as path:
        tables = Database(path, 1)
        for number in range(2):
            rows = {"key": np.arange(5), "text": [f"{n}文" for n in range(5)]}
            tables.write(path / f"{number}.parquet", rows)
        tables.view("keys", path / "*.parquet")
        tables.fill("two", {"key": "BIGINT"}, [{"key": np.array([2, 4])}])
        kept = "SELECT text FROM keys SEMI JOIN two ON keys.key = two.key"
        assert tables.make(Step("kept", kept)) == 4
        assert {*tables.arrays("SELECT text FROM kept")[0]} == {"2文", "4文"}
        if name == SPILLING:
            tables._connection.execute("SET memory_limit='128MB'")
            tables.make(Step("texts", SPILLED))
            assert any(folder.glob("spill-*/*"))
        tables.close()
    assert os.listdir(tmp_path) == [folder.name]
