"""Which sentences are the same, and pairs kept by the SQL, in DuckDB."""

import hashlib
import os
import random
import tempfile
import time
import unicodedata

import duckdb
import numpy as np
import pytest

from keras_transformer.data.database import Database, plain_path
from keras_transformer.data.selection import (
    COLUMNS,
    Step,
    dev_steps,
    fingerprints,
    key_range,
    nfkc,
    overlap_query,
    pair_keys,
    sentence_keys,
)


def key(text):
    return next(iter(sentence_keys([text])))


def test_key_ignores_case_width_punctuation_and_script():
    assert key("?!") != key("...")
    assert key("Don't STOP!") == key("dont stop") == "dontstop"
    assert key("ＡＢＣ　１２") == "abc12"
    assert key("Straße") == key("STRASSE")
    assert key("這是漢語。") == key("这是汉语") == "这是汉语"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("की", "का", False),  # vowel signs, which aren't letters to Python
        ("ที่", "ทุ", False),
        ("မိ", "မု", False),
        ("கீ", "கா", False),
        ("مَلِك", "ملك", True),  # points, which are mostly left out
        ("שָׁלוֹם", "שלום", True),
        ("ok \u2764\ufe0f", "ok \u2764", True),
    ],
)
def test_key_has_the_signs_that_tell_words_apart(one, other, same):
    assert (key(one) == key(other)) == same


def test_key_of_many_marks_takes_no_quadratic_time():
    text = "a" + "\u0301" * 100_000 + "\u0316" * 100_000
    began = time.monotonic()
    assert key(text) == key(text + "!")
    assert time.monotonic() - began < 5


def test_long_text_is_normalised_word_by_word_as_a_whole():
    text = "e\u0301 \u0316\u0301 ｅ\u0301  \xb4 ㍿ " * 100
    assert len(text) > 1000
    assert nfkc(text) == unicodedata.normalize("NFKC", text)


def test_fingerprints_are_those_of_every_machine():
    # What was prepared here and there has to be the same.
    seven = (7).to_bytes(8, "little")
    for text in ("a", "嗨"):
        digest = hashlib.blake2b(
            text.encode(), digest_size=8, salt=seven, person=b"shuffle"
        ).digest()
        value = int.from_bytes(digest, "little") >> 1
        assert fingerprints([text], "shuffle", 7).tolist() == [value]
    assert fingerprints(["a"], "shuffle", 7) == 6748810589136103424
    assert fingerprints([], "source").shape == (0,)


def test_keys_of_pairs_have_a_side_in_common_where_sentences_are_the_same():
    keys = pair_keys([("Hi.", "嗨。"), ("hi", "你好"), ("嗨", "Hi!")])
    sources, targets = keys["source_key"], keys["target_key"]
    assert sources[0] == sources[1] != sources[2]
    assert targets[0] != targets[1]
    assert len(np.unique(keys["shuffle_key"])) == 3
    # A source and a target never meet.
    assert not set(sources.tolist()) & set(targets.tolist())


@pytest.mark.parametrize("shards", [1, 2, 3, 7, 256, 1000])
def test_shards_are_ranges_of_keys_and_like_in_size(shards):
    keys = fingerprints(map(str, range(20_000)), "shuffle")
    expected, end = 20_000 / shards, -1
    for shard in range(shards):
        first, last = key_range(shard, shards)
        assert first == end + 1
        end = last
        owners = (np.array([first, last]) >> 31) * shards >> 32
        assert owners.tolist() == [shard, shard]
        count = ((keys >= first) & (keys <= last)).sum()
        assert abs(count - expected) < 6 * expected**0.5
    assert end == 2**63 - 1


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
    count = len(pairs)
    rows = {**keys, "corpus": np.zeros(count, int), "id": np.arange(count)}
    tables.fill(table, dict.fromkeys(COLUMNS, "BIGINT"), [rows])
    return dict(zip(keys["shuffle_key"].tolist(), pairs, strict=True))


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
    for side in ("source_key", "target_key"):
        assert not np.isin(dev_keys[side], keys[side]).any()
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
