import tensorflow as tf

from keras_transformer.export import layout
from keras_transformer.export.warmup import (
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


def test_records_are_those_of_tensorflow_serving_api(tmp_path):
    path = tmp_path / "requests"
    assert write_warmup(path, "tiny", ["Hi"]) == 2
    records = [r.numpy() for r in tf.data.TFRecordDataset(str(path))]
    assert records[1] == SERVING_API_RECORD


def test_requests_come_back_as_written(tmp_path):
    path = tmp_path / "requests"
    count = write_warmup(path, "tiny", ["狗", "b c"])
    requests = list(read_warmup(path))
    assert count == len(requests) == 6
    batches = [["狗".encode()], [b"b c"], ["狗".encode(), b"b c"]]
    assert requests == [
        (signature, {"text": batch})
        for signature in layout.SIGNATURES
        for batch in batches
    ]


def test_batches_are_each_text_and_all():
    assert warmup_batches(["a"]) == [["a"]]
    assert warmup_batches(["a", "b"]) == [["a"], ["b"], ["a", "b"]]
