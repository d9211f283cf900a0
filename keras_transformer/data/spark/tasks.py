"""Tasks on Spark's workers: batches of Arrow's in, batches out.

Each is a generator for `DataFrame.mapInArrow`, once its other arguments are
bound. It runs in a Python process that has this package installed.
"""

import collections
import json
import pathlib
import pickle
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from keras_transformer.config.data import DataConfig
from keras_transformer.data.blocks import Block
from keras_transformer.data.cleaning import Cleaner, CleaningReport
from keras_transformer.data.corpus import BYTE_ORDER_MARK
from keras_transformer.data.corpus_tasks import CorpusTasks, key_columns
from keras_transformer.data.mixing import (
    WeightedCorpus,
    copies,
    repetitions,
    tagged,
)
from keras_transformer.data.pieces import Piece, write_piece
from keras_transformer.data.selection import COLUMNS
from keras_transformer.errors import InputError
from keras_transformer.system.remote import RemotePath, any_path

Batches = Iterable[pa.RecordBatch]

COUNTED_SCHEMA = "token string, n long"
REPEATED_SCHEMA = "corpus long, trained long, left_out long"
DONE_SCHEMA = "shard long, result binary"


# What `clean` gives: numbers and text, or a report alone.
CLEANED_SCHEMA = ", ".join(
    [f"{name} long" for name in COLUMNS]
    + ["source string, target string, report string"]
)


def clean(
    batches: Batches, config: DataConfig, corpora: Sequence[WeightedCorpus]
) -> Iterator[pa.RecordBatch]:
    """Cleans lines of corpora.

    Stops at the first line that can't be used. Its error is reported and not
    raised, so that the corpus' first one is told, whichever worker is first.

    Args:
        batches: of `tables.corpus_lines`.
        config: of the data.
        corpora: that `corpus` numbers.

    Yields:
        the pairs that are kept, then rows that have a `report`: JSON of
        `corpus`, `read`, `dropped`, and `error`: the number of a line and a
        message, or None.
    """
    cleaner = Cleaner(config)
    reports: collections.defaultdict[int, CleaningReport] = (
        collections.defaultdict(CleaningReport)
    )
    errors = {}
    for batch in batches:
        numbers = batch.column("corpus").to_numpy(zero_copy_only=False)
        for index in np.unique(numbers).tolist():
            part = batch.filter(pa.array(numbers == index))
            try:
                pairs = _pairs(part, index, corpora[index])
            except _LineError as error:
                errors[index] = error.args
                break
            pairs = list(tagged(pairs, corpora[index].tag))
            kept = cleaner(pairs, reports[index])
            long = part.column("long").true_count
            reports[index].drop_long_lines(long)
            yield _cleaned_batch(kept, index, config)
        if errors:
            break
    yield _report_batch(reports, errors)


class _LineError(Exception):
    """The number of a line, from 0, and what is wrong with it."""


def _pairs(batch, index, corpus):
    """The pairs of a corpus in a batch of its lines."""
    numbers = batch.column("number").to_pylist()
    names = ("source",) if corpus.file.target is None else ("source", "target")
    sides = [batch.column(name).to_pylist() for name in names]
    if 0 in numbers:
        first = numbers.index(0)
        for lines in sides:
            lines[first] = lines[first].removeprefix(BYTE_ORDER_MARK)

    def block(number, sides):
        texts = [b"".join(line + b"\n" for line in side) for side in sides]
        target = texts[1] if len(texts) > 1 else None
        return Block(index, corpus.file, number + 1, texts[0], target)

    try:
        return block(0, sides).pairs()
    except InputError:
        # One by one, to name the line.
        for number, *lines in zip(numbers, *sides, strict=True):
            try:
                block(number, [[line] for line in lines]).pairs()
            except InputError as error:
                raise _LineError(number, str(error)) from None
        raise


def _cleaned_batch(pairs, corpus, config):
    numbers = key_columns(pairs, corpus, config)
    table = {name: pa.array(numbers[name], pa.int64()) for name in numbers}
    table["source"] = pa.array([source for source, _ in pairs], pa.string())
    table["target"] = pa.array([target for _, target in pairs], pa.string())
    table["report"] = pa.nulls(len(pairs), pa.string())
    return _in_order(table)


def _report_batch(reports, errors):
    texts = [
        json.dumps(
            {
                "corpus": index,
                "read": reports[index].read,
                "dropped": reports[index].dropped,
                "error": errors.get(index),
            }
        )
        for index in sorted({*reports, *errors})
    ]
    table = {name: pa.nulls(len(texts), pa.int64()) for name in COLUMNS}
    table["source"] = table["target"] = pa.nulls(len(texts), pa.string())
    table["report"] = pa.array(texts, pa.string())
    return _in_order(table)


def _in_order(table):
    names = [*COLUMNS, "source", "target", "report"]
    return pa.RecordBatch.from_pydict({name: table[name] for name in names})


def count_repetitions(
    batches: Batches, weights: Sequence[float]
) -> Iterator[pa.RecordBatch]:
    """Counts what weights make of pairs.

    Args:
        batches: of `shuffle_key` and `corpus`.
        weights: of each corpus.

    Yields:
        for each corpus a row of `REPEATED_SCHEMA`.
    """
    counts = np.zeros((len(weights), 2), np.int64)
    for batch in batches:
        times, corpora = _times(batch, weights)
        np.add.at(counts[:, 0], corpora, times)
        np.add.at(counts[:, 1], corpora, times == 0)
    table = {
        "corpus": pa.array(range(len(weights)), pa.int64()),
        "trained": pa.array(counts[:, 0]),
        "left_out": pa.array(counts[:, 1]),
    }
    yield pa.RecordBatch.from_pydict(table)


def repeat(
    batches: Batches, weights: Sequence[float]
) -> Iterator[pa.RecordBatch]:
    """Gives each pair as often as the weight of its corpus says.

    Args:
        batches: that have `shuffle_key` and `corpus`.
        weights: of each corpus.

    Yields:
        the same columns, with the shuffle keys of the copies.
    """
    for batch in batches:
        times, _ = _times(batch, weights)
        keys = batch.column("shuffle_key").to_numpy()
        indices, keys = copies(keys, times)
        batch = batch.take(pa.array(indices))
        column = batch.schema.get_field_index("shuffle_key")
        yield batch.set_column(column, "shuffle_key", pa.array(keys))


def _times(batch, weights):
    """How often each pair of a batch stands in an epoch, and its corpus."""
    keys = batch.column("shuffle_key").to_numpy()
    corpora = batch.column("corpus").to_numpy()
    return repetitions(keys, np.take(weights, corpora)), corpora


def count_tokens(
    batches: Batches,
    config: DataConfig,
    side: str,
    set_up: Callable[[], None],
) -> Iterator[pa.RecordBatch]:
    """Counts the tokens of a side that has a vocabulary.

    Args:
        batches: that have a column of the name of the side.
        config: of the data.
        side: "source" or "target".
        set_up: called before TensorFlow is used.

    Yields:
        rows of `COUNTED_SCHEMA`.
    """
    set_up()
    from keras_transformer.data.corpus_tokenizers import counting_tokenizer
    from keras_transformer.text import vocabulary_training

    split = counting_tokenizer(config, side).split
    lines = (
        line for batch in batches for line in batch.column(side).to_pylist()
    )
    counts = vocabulary_training.count_tokens(lines, split)
    table = {
        "token": pa.array(list(counts), pa.string()),
        "n": pa.array(list(counts.values()), pa.int64()),
    }
    yield pa.RecordBatch.from_pydict(table)


def do_tasks(
    batches: Batches,
    config: DataConfig,
    tasks: Mapping[int, tuple],
    split: str,
    tokenizers: Mapping[str, bytes],
    out: str,
    set_up: Callable[[], None],
) -> Iterator[pa.RecordBatch]:
    """Does the tasks of shards whose pairs come together and in order.

    Args:
        batches: of `shard`, `shuffle_key`, `source` and `target`.
        config: of the data.
        tasks: of `CorpusTasks`, by shard.
        split: of the shards.
        tokenizers: the files of both, by their paths in prepared data.
        out: the folder of the prepared data, on a file system that all
            workers share, or an address; files of the tasks are put there.
        set_up: called before TensorFlow is used.

    Yields:
        rows of `DONE_SCHEMA`, results pickled.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "work").mkdir()
        for path, content in tokenizers.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_bytes(content)
        do = CorpusTasks(folder, config, partitions=1, set_up=set_up)
        for shard, piece, part in _runs_of_shards(batches):
            if part is not None:
                _write(folder / "work" / split, shard, piece, part)
                continue
            result = do(tasks[shard])
            _publish(folder, out, [*tokenizers])
            table = {
                "shard": pa.array([shard], pa.int64()),
                "result": pa.array([pickle.dumps(result)], pa.binary()),
            }
            yield pa.RecordBatch.from_pydict(table)


def _runs_of_shards(batches):
    """Yields (shard, number, part of a batch); None after a shard's last."""
    current, number = None, 0
    for batch in batches:
        shards = batch.column("shard").to_numpy()
        starts = np.flatnonzero(np.diff(shards, prepend=-1))
        ends = [*starts[1:].tolist(), len(shards)]
        for start, end in zip(starts.tolist(), ends, strict=True):
            if shards[start] != current:
                if current is not None:
                    yield current, number, None
                current, number = int(shards[start]), 0
            yield current, number, batch.slice(start, end - start)
            number += 1
    if current is not None:
        yield current, number, None


def _write(folder, shard, piece, batch):
    lines = [
        f"{source}\t{target}".encode()
        for source, target in zip(
            batch.column("source").to_pylist(),
            batch.column("target").to_pylist(),
            strict=True,
        )
    ]
    keys = batch.column("shuffle_key").to_numpy()
    write_piece(folder, shard, Piece(piece, keys, lines, {}))


def _publish(folder, out, stay):
    """Moves new files to the shared folder; removes the text of the shard."""
    out = any_path(out)
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or name in stay:
            continue
        # Text of a shard lies in a folder of its split and its shard.
        if name.count("/") < 3:
            if isinstance(out, RemotePath):
                (out / name).put(path)
            else:
                shutil.copyfile(path, out / name)
        path.unlink()
