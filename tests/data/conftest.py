"""Small corpora, and one of them prepared."""

import duckdb
import pytest
import tensorflow as tf

from keras_transformer.data import records
from keras_transformer.data.prepare import prepare
from keras_transformer.data.records import parse
from tests.word_data import word_data

ANIMALS = ["cat", "dog", "bird", "fish", "horse", "cow", "duck", "goat"]
CHARACTERS = "猫狗鸟鱼马牛鸭羊"
DEV_TEXT = "the mouse ran\t老鼠跑了\nnine mice ran\t九只老鼠跑了\n"


def pair(number):
    """A pair of sentences, different for every number."""
    animal = number % len(ANIMALS)
    extra = number // len(ANIMALS)
    source = f"the {ANIMALS[animal]} saw" + " a star" * (extra % 7)
    return f"{source} {extra} times .", f"{CHARACTERS[animal]}看{extra}次。"


def stored_ids(prepared, split):
    """The ids of a split's sources, and of its targets, ragged."""
    files = [str(path) for path in prepared.files(split)]
    records = tf.data.TFRecordDataset(files).batch(1000)
    return parse(records.get_single_element())


def contents(folder):
    """The files of a folder, by their paths in it."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def write(tmp_path):
    """Writes text, bytes or pairs to a file of that name; returns its path."""

    def write_file(name, content):
        path = tmp_path / name
        if isinstance(content, list):
            content = "".join(
                f"{source}\t{target}\n" for source, target in content
            )
        if isinstance(content, str):
            content = content.encode()
        path.write_bytes(content)
        return path

    return write_file


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    """Several shards of a few hundred pairs."""
    monkeypatch.setattr(records, "SHARD_PAIRS", 100)


@pytest.fixture
def prepare_text(write, tmp_path):
    """Prepares a file of that text, or pairs; keywords are of `word_data`."""

    def prepare_file(content, dev=None, **values):
        path = write("train.tsv", content)
        return prepare([path], tmp_path / "data", word_data(**values), dev)

    return prepare_file


@pytest.fixture
def failing_queries(monkeypatch):
    """Makes DuckDB raise an error at each query of which `fails` is true."""
    connect = duckdb.connect

    def fail(fails, error):
        class Connection:
            def __init__(self, *arguments, **options):
                self._connection = connect(*arguments, **options)

            def __getattr__(self, name):
                return getattr(self._connection, name)

            def execute(self, query):
                if fails(query):
                    raise error
                return self._connection.execute(query)

        monkeypatch.setattr(duckdb, "connect", Connection)

    return fail


@pytest.fixture(scope="session")
def pairs():
    """The first pairs of the corpus."""
    return [pair(number) for number in range(5)]


@pytest.fixture(scope="session")
def corpus(tmp_path_factory):
    """A TSV file of 400 different pairs."""
    path = tmp_path_factory.mktemp("corpus") / "pairs.tsv"
    lines = ("\t".join(pair(number)) + "\n" for number in range(400))
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def prepared(corpus, tmp_path_factory):
    """The corpus in four shards, with a dev split of its own."""
    dev = corpus.with_name("dev.tsv")
    dev.write_text(DEV_TEXT, encoding="utf-8")
    out = tmp_path_factory.mktemp("prepared") / "data"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "SHARD_PAIRS", 100)
        return prepare([corpus], out, word_data(), dev)
