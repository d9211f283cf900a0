import struct

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.system.crc32c import crc32c, masked_crc32c


@pytest.mark.parametrize("size", [0, 1, 3, 4, 9, 1000, 4099])
def test_checksums_are_those_of_tensorflow(size, tmp_path):
    """TensorFlow writes the one of a record behind it."""
    data = np.random.default_rng(size).bytes(size)
    path = str(tmp_path / "record")
    with tf.io.TFRecordWriter(path) as writer:
        writer.write(data)
    written = (tmp_path / "record").read_bytes()[-4:]
    assert struct.pack("<I", masked_crc32c(data)) == written


def test_checksums_are_those_of_the_standard():
    # RFC 3720, appendix B.4, and the usual check value.
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(np.frombuffer(b"123456789", np.uint8)) == 0xE3069283
