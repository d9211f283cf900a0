import pytest
import tensorflow as tf

from keras_transformer.export.writer.tfrecord import (
    crc32c,
    read_records,
    write_records,
)

RECORDS = [b"", b"a", bytes(range(256)) * 3]


def test_check_sum_is_that_of_the_standard():
    # RFC 3720, appendix B.4, and the usual check value.
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"123456789") == 0xE3069283


def test_tensorflow_reads_what_is_written(tmp_path):
    path = tmp_path / "records"
    assert write_records(path, RECORDS) == 3
    found = [r.numpy() for r in tf.data.TFRecordDataset(str(path))]
    assert found == list(read_records(path)) == RECORDS


def test_what_tensorflow_writes_is_read(tmp_path):
    path = tmp_path / "records"
    with tf.io.TFRecordWriter(str(path)) as writer:
        for record in RECORDS:
            writer.write(record)
    assert list(read_records(path)) == RECORDS


@pytest.mark.parametrize("place", [0, 8, 20, -1])
def test_changed_byte_is_found(tmp_path, place):
    path = tmp_path / "records"
    write_records(path, [b"x" * 30])
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="records: record 1 is damaged"):
        list(read_records(path))


@pytest.mark.parametrize("size", [1, 11, 20, 45])
def test_cut_file_is_found(tmp_path, size):
    path = tmp_path / "records"
    write_records(path, [b"x" * 30])
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(ValueError, match="damaged"):
        list(read_records(path))
