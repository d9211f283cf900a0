"""Records: pairs of ids on disk, TFRecord shards of `tf.train.Example`.

Each record has the plain ids of one pair, `source_ids` and `target_ids`,
without start and end. Beside the shards of a split stands its lengths file,
int32 `(N, 2)` in the order of the records, from which the number of batches
follows without reading a shard.
"""

import array
import contextlib
import pathlib

import numpy as np
import tensorflow as tf

from keras_transformer.files import describe_file

_FEATURES = {
    name: tf.io.RaggedFeature(tf.int64, row_splits_dtype=tf.int64)
    for name in ("source_ids", "target_ids")
}

# All shards of a split are open at once while it is written.
MAXIMUM_SHARDS = 256


class SplitWriter:
    """Spreads the pairs of one split over its shards, at random.

    A shard is thus a sample of the whole corpus, whatever the order of the
    corpus, and shuffling can work shard by shard. A context manager. Holds 8
    bytes a pair, the lengths.

    Args:
        folder: where the files go.
        split: the first part of their names.
        pairs: how many pairs are expected at most; sets the shards' number.
        shard_size: pairs a shard; more if there were over 256 shards.
        seed: decides which shard a pair goes to.
    """

    def __init__(
        self,
        folder: pathlib.Path,
        split: str,
        pairs: int,
        shard_size: int,
        seed: int,
    ):
        count = min(max(1, -(-pairs // shard_size)), MAXIMUM_SHARDS)
        self._folder = folder
        self._lengths_name = f"{split}.lengths.npy"
        self._shard_names = [
            f"{split}-{i:05d}-of-{count:05d}.tfrecord" for i in range(count)
        ]
        self._lengths = [array.array("i") for _ in range(count)]
        self._random = np.random.default_rng(seed)
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            self._writers = [
                stack.enter_context(
                    tf.io.TFRecordWriter(str(self._folder / name))
                )
                for name in self._shard_names
            ]
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error):
        return self._stack.__exit__(*error)

    def write(self, source_ids: list[list[int]], target_ids: list[list[int]]):
        """Appends pairs of plain ids, one list of ids a sentence."""
        shards = self._random.integers(len(self._writers), size=len(source_ids))
        for shard, source, target in zip(
            shards.tolist(), source_ids, target_ids, strict=True
        ):
            self._writers[shard].write(serialize(source, target))
            self._lengths[shard].extend((len(source), len(target)))

    def finish(self) -> dict:
        """Closes the shards and writes the lengths file.

        Returns:
            The split's part of the manifest: `pairs`, `lengths` and `shards`,
            each file with `name`, `pairs`, `bytes` and `sha256`.
        """
        self._stack.close()
        tables = [np.array(part).reshape(-1, 2) for part in self._lengths]
        lengths_path = self._folder / self._lengths_name
        np.save(lengths_path, np.concatenate(tables).astype(np.int32))
        shards = [
            describe_file(self._folder / name) | {"pairs": len(table)}
            for name, table in zip(self._shard_names, tables, strict=True)
        ]
        return {
            "pairs": sum(map(len, tables)),
            "lengths": describe_file(lengths_path),
            "shards": shards,
        }


def serialize(source_ids: list[int], target_ids: list[int]) -> bytes:
    """One pair of plain ids as a record."""
    example = tf.train.Example()
    features = example.features.feature
    features["source_ids"].int64_list.value.extend(source_ids)
    features["target_ids"].int64_list.value.extend(target_ids)
    return example.SerializeToString()


def parse(records: tf.Tensor) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
    """The pairs in some records.

    Args:
        records: string `(N,)`.

    Returns:
        Plain source and target ids, each ragged int32 `(N, None)`.
    """
    parsed = tf.io.parse_example(records, _FEATURES)
    return (
        tf.cast(parsed["source_ids"], tf.int32),
        tf.cast(parsed["target_ids"], tf.int32),
    )
