import tensorflow as tf

from keras_transformer.contract import layout
from keras_transformer.contract.layout import SIGNATURES
from keras_transformer.export.deployment.templates import BATCHING
from keras_transformer.export.writer.warmup import (
    MAX_BATCH,
    MAX_TEXTS,
    read_warmup,
    warmup_batches,
    write_warmup,
)
from tests.export.serving_messages import parse

# A PredictionLog of one request for the text "Hi" to signature "greedy" of
# model "tiny", as tensorflow-serving-api 2.21 serialises it.
SERVING_API_RECORD = bytes.fromhex(
    "32280a260a0e0a0474696e791a0667726565647912140a0474657874120c"
    "080712041202080142024869"
)


def _inputs(texts):
    return {
        signature: dict.fromkeys(expected.inputs, texts)
        for signature, expected in layout.SIGNATURES.items()
    }


def test_records_are_those_of_tensorflow_serving_api(tmp_path):
    path = tmp_path / "requests"
    assert write_warmup(path, "tiny", _inputs(["Hi"])) == 6
    records = [r.numpy() for r in tf.data.TFRecordDataset(str(path))]
    assert records[1] == SERVING_API_RECORD


def test_requests_come_back_as_written(tmp_path):
    path = tmp_path / "requests"
    count = write_warmup(path, "tiny", _inputs(["狗", "b c"]))
    requests = list(read_warmup(path))
    assert count == len(requests) == 18
    batches = [["狗".encode()], [b"b c"], ["狗".encode(), b"b c"]]
    assert requests == [
        (signature, dict.fromkeys(expected.inputs, batch))
        for signature, expected in layout.SIGNATURES.items()
        for batch in batches
    ]


def test_batches_are_each_row_and_all():
    assert warmup_batches({"text": ["a"]}) == [{"text": ["a"]}]
    assert warmup_batches({"text": ["a", "b"], "translation": ["c", "d"]}) == [
        {"text": ["a"], "translation": ["c"]},
        {"text": ["b"], "translation": ["d"]},
        {"text": ["a", "b"], "translation": ["c", "d"]},
    ]


def test_batch_is_one_that_a_batching_server_takes():
    limit = parse("BatchingParameters", BATCHING).max_batch_size.value
    texts = [str(number) for number in range(MAX_TEXTS)]
    batches = warmup_batches({"text": texts})
    assert len(batches) == MAX_TEXTS + 1
    assert batches[-1] == {"text": texts[:MAX_BATCH]}
    assert len(SIGNATURES) * len(batches) <= 1000
    assert 1 < MAX_BATCH <= limit
