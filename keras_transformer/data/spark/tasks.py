"""Tasks on Spark's workers, from and to Arrow batches or tables.

They run in Python processes that have this package installed.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import json
import pathlib
import pickle
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from keras_transformer.config.data import DataConfig
from keras_transformer.data.corpus import CorpusFile, Part, read_part
from keras_transformer.data.corpus_tokenizers import token_counts
from keras_transformer.data.database import CHUNK
from keras_transformer.data.engines import CorpusTasks
from keras_transformer.data.lines import count_lines_of_block, read_errors
from keras_transformer.data.masking import Rewrite
from keras_transformer.data.mixing import WeightedCorpus
from keras_transformer.data.selection import COLUMNS
from keras_transformer.errors import InputError
from keras_transformer.system.remote import RemotePath, any_path

Batches = Iterable[pa.RecordBatch]

LINES_SCHEMA = "block long, lines long"
REWRITTEN_SCHEMA = "place long, source string, target string, counts string"
COUNTED_SCHEMA = "token string, n long"
ENCODED_SCHEMA = "shard long, result binary"
# Columns of the result of `clean`: pairs, or only a report.
_CLEANED = {
    **dict.fromkeys(COLUMNS, pa.int64()),
    **dict.fromkeys(("source", "target", "report"), pa.string()),
}
CLEANED_SCHEMA = ", ".join(
    f"{name} {'long' if kind == pa.int64() else kind}"
    for name, kind in _CLEANED.items()
)


def ends_of_block(block: int, size: int | None) -> tuple[int, int | None]:
    """The first byte of a block, and the end before which its lines begin."""
    return (0, None) if size is None else (block * size, (block + 1) * size)


def count_lines(
    batches: Batches, corpus: CorpusFile, path: str, size: int | None
) -> Iterator[pa.RecordBatch]:
    """Counts the lines of blocks of a file.

    Args:
        batches: have `id`, the numbers of blocks.
        corpus: to which the file belongs.
        path: of the file.
        size: bytes of a block; None: the whole file.

    Yields:
        rows of `LINES_SCHEMA`.
    """
    for batch in batches:
        for block in batch.column("id").to_pylist():
            with read_errors(path), corpus.opened(any_path(path)) as file:
                ends = ends_of_block(block, size)
                count = count_lines_of_block(file, *ends)
            row = {"block": pa.array([block]), "lines": pa.array([count])}
            yield pa.RecordBatch.from_pydict(row)


def clean(
    batches: Batches,
    parts: Sequence[Part],
    corpora: Sequence[WeightedCorpus],
    config: DataConfig,
) -> Iterator[pa.RecordBatch]:
    """Cleans parts of corpora.

    Errors are reported rather than raised, so that the caller can raise the
    first one in the order of the corpora.

    Args:
        batches: have `id`, indices of parts.
        parts: all parts.
        corpora: to which the parts belong.
        config: of the data.

    Yields:
        the kept pairs, and rows with a `report`: JSON of the corpus, a line,
        pairs read and dropped, samples, and an error's message or None.
    """
    tasks = CorpusTasks(pathlib.Path(), config)
    for batch in batches:
        for part in (parts[n] for n in batch.column("id").to_pylist()):
            corpus, line = part.corpus, part.line
            try:
                for block in read_part(part):
                    report, rows = tasks.clean(block, corpora[corpus].tag)
                    yield _cleaned_batch(rows, len(rows["source"]))
                    counted = report.read, report.dropped, report.samples
                    yield _report(corpus, line, *counted, None)
            except InputError as error:
                yield _report(corpus, line, 0, {}, {}, str(error))


def _report(*values):
    return _cleaned_batch({"report": [json.dumps(values)]}, 1)


def _cleaned_batch(rows, count):
    columns = {
        name: pa.array(rows.get(name, [None] * count), kind)
        for name, kind in _CLEANED.items()
    }
    return pa.RecordBatch.from_pydict(columns)


def rewrite(batches: Batches, rewrite: Rewrite) -> Iterator[pa.RecordBatch]:
    """Rewrites the text of pairs for training.

    Args:
        batches: have `place`, `source` and `target`.
        rewrite: applied to each pair.

    Yields:
        rows of `REWRITTEN_SCHEMA`; the first row of each batch has the batch's
        counts, as JSON.
    """
    for batch in batches:
        columns = batch.to_pydict()
        counts: collections.Counter = collections.Counter()
        for row, pair in enumerate(
            zip(columns["source"], columns["target"], strict=True)
        ):
            pair, done = rewrite(pair)
            columns["source"][row], columns["target"][row] = pair
            counts.update(done)
        rest = [None] * (batch.num_rows - 1)
        table = {
            "place": batch.column("place"),
            "source": pa.array(columns["source"], pa.string()),
            "target": pa.array(columns["target"], pa.string()),
            "counts": pa.array([json.dumps(counts), *rest], pa.string()),
        }
        if batch.num_rows:
            yield pa.RecordBatch.from_pydict(table)


def count_tokens(
    batches: Batches, config: DataConfig, side: str, set_up: Callable[[], None]
) -> Iterator[pa.RecordBatch]:
    """Counts the tokens of a side with a lookup tokenizer.

    Args:
        batches: have a column with the name of the side.
        config: of the data.
        side: "source" or "target".
        set_up: called before TensorFlow is used.

    Yields:
        rows of `COUNTED_SCHEMA`.
    """
    set_up()
    lines = (
        line for batch in batches for line in batch.column(side).to_pylist()
    )
    counts = token_counts(lines, config, side)
    table = {
        "token": pa.array(list(counts), pa.string()),
        "n": pa.array(list(counts.values()), pa.int64()),
    }
    yield pa.RecordBatch.from_pydict(table)


@dataclasses.dataclass
class Encoder:
    """Writes the records of shards.

    Args:
        config: of the data.
        split: of the shards.
        shards: of the split.
        files: content of both tokenizers' files and, if used, of the model of
            the filter `alignment`, by their paths in prepared data.
        out: the folder of the prepared data, on a file system that all
            workers share, or an address; files are written there.
        set_up: called before TensorFlow is used.
    """

    config: DataConfig
    split: str
    shards: int
    files: Mapping[str, bytes]
    out: str
    set_up: Callable[[], None]

    def __call__(self, table: pa.Table) -> pa.Table:
        """Writes a shard.

        Args:
            table: has `shard`, always the same number, `place`, `source` and
                `target`.

        Returns:
            a row of `ENCODED_SCHEMA`: the shard's `EncodedShard`, pickled.
        """
        shard = table.column("shard")[0].as_py()
        table = table.sort_by("place").select(["source", "target"])
        texts = (
            list(zip(*map(pa.Array.to_pylist, batch.columns), strict=True))
            for batch in table.to_batches(CHUNK)
        )
        folder, tasks = self._worker
        result = tasks.encode_texts(self.split, shard, self.shards, texts)
        _publish(pathlib.Path(folder.name), self.out, self.files)
        row = {
            "shard": pa.array([shard], pa.int64()),
            "result": pa.array([pickle.dumps(result)], pa.binary()),
        }
        return pa.table(row)

    @functools.cached_property
    def _worker(self):
        """A temporary folder of this worker, and its `CorpusTasks`."""
        self.set_up()
        temporary = tempfile.TemporaryDirectory()
        folder = pathlib.Path(temporary.name)
        (folder / "work").mkdir()
        for path, content in self.files.items():
            (folder / path).parent.mkdir(exist_ok=True)
            (folder / path).write_bytes(content)
        return temporary, CorpusTasks(folder, self.config)


def _publish(folder, out, stay):
    """Moves new files to the shared folder."""
    out = any_path(out)
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or name in stay:
            continue
        if isinstance(out, RemotePath):
            (out / name).put(path)
        else:
            shutil.copyfile(path, out / name)
        path.unlink()
