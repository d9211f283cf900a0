import re

import pytest
import tensorflow as tf

from keras_transformer.contract.layout import SIGNATURES
from keras_transformer.exporting.server_files import batching_config
from keras_transformer.exporting.warmup_requests import (
    MAX_BATCH,
    MAX_TEXTS,
    read_records,
    read_warmup,
    warmup_batches,
    write_warmup,
)

# A PredictionLog of one request for the text "Hi" to signature "greedy" of
# model "tiny", as tensorflow-serving-api 2.21 serialises it.
SERVING_API_RECORD = bytes.fromhex(
    "32280a260a0e0a0474696e791a0667726565647912140a0474657874120c"
    "080712041202080142024869"
)


def _inputs(texts):
    return {
        signature: dict.fromkeys(expected.inputs, texts)
        for signature, expected in SIGNATURES.items()
    }


def test_records_are_those_of_tensorflow_serving_api(tmp_path):
    path = tmp_path / "requests"
    write_warmup(path, "tiny", _inputs(["Hi"]))
    records = list(read_records(path))
    assert len(records) == 6
    assert records[1] == SERVING_API_RECORD


def test_requests_come_back_as_written(tmp_path):
    path = tmp_path / "requests"
    write_warmup(path, "tiny", _inputs(["狗", "b c"]))
    requests = list(read_warmup(path))
    assert len(requests) == 18
    batches = [["狗".encode()], [b"b c"], ["狗".encode(), b"b c"]]
    assert requests == [
        (signature, dict.fromkeys(expected.inputs, batch))
        for signature, expected in SIGNATURES.items()
        for batch in batches
    ]


def test_batch_is_one_that_a_batching_server_takes():
    (limit,) = re.findall(r"^max_batch_size .*: (\d+)", batching_config(), re.M)
    texts = [str(number) for number in range(MAX_TEXTS)]
    batches = warmup_batches({"text": texts})
    assert len(batches) == MAX_TEXTS + 1
    assert batches[-1] == {"text": texts[:MAX_BATCH]}
    assert len(SIGNATURES) * len(batches) <= 1000
    assert 1 < MAX_BATCH <= int(limit)


# TFRecord files


def write_records(folder, *records):
    """Writes records as TensorFlow does; returns the file's path."""
    path = folder / "records"
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in records:
            writer.write(record)
    return path


def test_what_tensorflow_writes_is_read(tmp_path):
    records = [b"", b"a", bytes(range(256)) * 3]
    assert list(read_records(write_records(tmp_path, *records))) == records


def test_damaged_file_is_refused(tmp_path):
    path = write_records(tmp_path, b"x" * 30)
    content = path.read_bytes()
    for place in (0, 8, 20, len(content) - 1):
        changed = bytearray(content)
        changed[place] ^= 1
        for damaged in (changed, content[: place or 1]):
            path.write_bytes(damaged)
            with pytest.raises(ValueError, match="records: record 1 is damag"):
                list(read_records(path))
