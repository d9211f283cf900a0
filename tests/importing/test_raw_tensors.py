"""Tensors beside a list of their places: safetensors and checkpoints."""

import json
import struct
import time

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import tensor_bundle_pb2

from keras_transformer.errors import InputError
from keras_transformer.importing.raw_tensors import (
    read_checkpoint,
    read_safetensors,
)
from keras_transformer.system.crc32c import masked_crc32c
from tests.importing.conftest import by_reason

VALUES = np.arange(6, dtype="f4").reshape(2, 3)


def safetensors(entries, data=None, length=None):
    data = VALUES.tobytes() if data is None else data
    header = json.dumps(entries).encode()
    size = len(header) if length is None else length
    return struct.pack("<Q", size) + header + data


def entry(**changes):
    whole = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
    return {"a": {**whole, **changes}, "__metadata__": {"format": "pt"}}


def test_safetensors_of_each_precision(write):
    path = write(safetensors(entry()))
    np.testing.assert_array_equal(read_safetensors(path)["a"], VALUES)
    half = VALUES.astype("f2").tobytes()
    small = {"shape": [2, 3], "data_offsets": [0, 12]}
    path = write(safetensors(entry(dtype="F16", **small), half))
    read = read_safetensors(path)["a"]
    assert read.dtype == np.float32
    np.testing.assert_array_equal(read, VALUES)
    upper = (VALUES.view("<u4") >> 16).astype("<u2").tobytes()
    path = write(safetensors(entry(dtype="BF16", **small), upper))
    np.testing.assert_array_equal(read_safetensors(path)["a"], VALUES)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "8 bytes"),
        (b"\x01\x02", "8 bytes"),
        (safetensors(entry())[:-1], "takes 24 bytes, of which 23"),
        (safetensors(entry(), length=10**9), "a header of 1000000000 bytes"),
        (safetensors(entry(), length=2**63), "a header of"),
        (safetensors(entry(shape=[2, 4])), "takes 32 bytes"),
        (safetensors(entry(shape=[2**40, 2**40])), "takes"),
        (safetensors(entry(shape=[-2, -3])), "has the shape"),
        (safetensors(entry(shape=[2.0, 3])), "has the shape"),
        (safetensors(entry(data_offsets=[0, 10**9])), "takes 24 bytes"),
        (safetensors(entry(data_offsets=[8, 32])), "of which 16"),
        (safetensors(entry(dtype="I8")), "'a' is 'I8', as in quantised"),
        (safetensors(entry(data_offsets=[-24, 0])), "place is no number"),
        (safetensors(entry(data_offsets=[0.0, 24])), "place is no number"),
        (safetensors(entry(data_offsets=[24, 0])), "takes 24 bytes"),
        (safetensors(entry(shape=[1] * 1000)), "has the shape"),
        (safetensors({"\x1b[2J": entry(dtype="I8")["a"]}), "'.x1b"),
        (safetensors({"a": 3}), "damaged"),
        (safetensors([1]), "damaged"),
        (safetensors(entry())[:-1].replace(b"{", b"[", 1), "damaged"),
        (struct.pack("<Q", 200000) + b"[" * 200000, "damaged"),
    ],
    ids=by_reason,
)
def test_damaged_safetensors_are_refused(content, reason, refuses_file):
    refuses_file(read_safetensors, content, reason)


def test_safetensors_that_share_bytes_are_refused(write, refuses_file):
    """The format has none, and each would be converted for itself."""
    half = {"dtype": "BF16", "shape": [6], "data_offsets": [0, 12]}
    other = {**half, "data_offsets": [12, 24]}
    empty = {**half, "shape": [0], "data_offsets": [12, 12]}
    apart = {"a": half, "b": other, "c": empty}
    assert len(read_safetensors(write(safetensors(apart)))) == 3
    other["data_offsets"] = [10, 22]
    many = {str(number): half for number in range(1000)}
    for entries in (apart, many):
        refuses_file(read_safetensors, safetensors(entries), "overlap")


def test_checkpoints_without_what_the_optimizer_keeps(tmp_path):
    value = ".ATTRIBUTES/VARIABLE_VALUE"
    tensors = {
        f"model/layer/kernel/{value}": np.ones((2, 3), np.float16),
        f"model/layer/kernel/.OPTIMIZER_SLOT/optimizer/m/{value}": [1.0],
        f"optimizer/iter/{value}": 3,
    }
    prefix = tmp_path / "ckpt-3"
    tf.raw_ops.SaveV2(
        prefix=str(prefix),
        tensor_names=[*tensors],
        shape_and_slices=[""] * len(tensors),
        tensors=[tf.constant(tensor) for tensor in tensors.values()],
    )
    read = read_checkpoint(prefix)
    assert {name: array.shape for name, array in read.items()} == {
        "layer/kernel": (2, 3)
    }
    assert read["layer/kernel"].dtype == np.float32


def masked(data):
    return struct.pack("<I", masked_crc32c(data))


def varint(number):
    groups = []
    while number > 127:
        groups.append(number & 127 | 128)
        number >>= 7
    return bytes([*groups, number])


def block(pairs):
    content = b"".join(
        varint(0) + varint(len(key)) + varint(len(value)) + key + value
        for key, value in pairs
    )
    return content + struct.pack("<II", 0, 1)


def table(pairs, repeats=1):
    """A list as TensorFlow writes it, in a single block.

    Args:
        pairs: keys and values, bytes.
        repeats: how often the block is named.
    """
    content, places = b"", []

    def add(part):
        nonlocal content
        places.append(varint(len(content)) + varint(len(part)))
        content += part + b"\0" + masked(part + b"\0")

    add(block(pairs))
    add(block([]))
    add(block([(b"z", places[0])] * repeats))
    footer = (places[1] + places[2]).ljust(40, b"\0")
    return content + footer + bytes.fromhex("57fb808b247547db")


NAME = b"model/a/.ATTRIBUTES/VARIABLE_VALUE"
NUMBERS = struct.pack("<2f", 1, 2)


def listed(shape=(2,), checked=NUMBERS, unknown_rank=False, slices=0, **other):
    """What a list says of a variable."""
    told = tensor_bundle_pb2.BundleEntryProto(dtype=1, size=8)
    told.crc32c = struct.unpack("<I", masked(checked))[0]
    for axis in shape:
        told.shape.dim.add(size=axis)
    told.shape.unknown_rank = unknown_rank
    for _ in range(slices):
        told.slices.add().extent.add(start=0, length=2)
    for name, value in other.items():
        setattr(told, name, value)
    return told.SerializeToString()


def header(num_shards=1, **changes):
    return tensor_bundle_pb2.BundleHeaderProto(
        num_shards=num_shards, **changes
    ).SerializeToString()


HEADER = b"", header()


@pytest.fixture
def checkpoint(tmp_path):
    def make(content):
        (tmp_path / "ckpt-1.index").write_bytes(content)
        (tmp_path / "ckpt-1.data-00000-of-00001").write_bytes(NUMBERS)
        return tmp_path / "ckpt-1"

    return make


@pytest.fixture
def refuses_list(checkpoint):
    """Checks that a list is refused in a line, and in seconds."""

    def check(content, reason):
        prefix, began = checkpoint(content), time.process_time()
        with pytest.raises(InputError, match=reason) as caught:
            read_checkpoint(prefix)
        assert time.process_time() - began < 5
        assert "\n" not in str(caught.value)

    return check


def test_a_list_that_was_made_by_hand_is_read(checkpoint):
    prefix = checkpoint(table([HEADER, (NAME, listed())]))
    assert read_checkpoint(prefix)["a"].tolist() == [1, 2]
    assert tf.train.load_checkpoint(str(prefix)).has_tensor(NAME.decode())


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (b"\xff\xff\xff", "no entry"),
        (b"", "isn't numbers"),
        (listed((-5,)), "has the shape"),
        (listed((-1, -2)), "has the shape"),
        (listed((2**62, 2**62)), "takes"),
        (listed((1,) * 300), "has the shape"),
        (listed((2**40, 0)), "takes 0 bytes"),
        (listed((), unknown_rank=True), "in parts"),
        (listed(slices=2), "in parts"),
        (listed(dtype=101), "isn't numbers"),
        (listed(dtype=7), "isn't numbers"),
        (listed(size=10**15), "takes 8 bytes"),
        (listed(size=-8), "takes 8 bytes"),
        (listed(offset=-8), "place is no number"),
        (listed(offset=10**12), "of which 0"),
        (listed(shard_id=1), "is in file 1, of 1 from 0"),
        (listed(shard_id=7), "is in file 7, of 1 from 0"),
        (listed(shard_id=-1), "is in file -1, of 1 from 0"),
        (listed(checked=b"other"), "another checksum"),
    ],
)
def test_entries_that_were_made_up_are_refused(told, reason, refuses_list):
    """TensorFlow's reader ends the process over several of them."""
    refuses_list(table([HEADER, (NAME, told)]), reason)


def test_damaged_lists_are_refused(refuses_list):
    whole = table([HEADER, (NAME, listed())])
    turned = bytearray(whole)
    turned[10] ^= 1
    names = [NAME, NAME.replace(b"/a/", b"/b/")]
    for content, reason in (
        (b"", "no table"),
        (whole[:-1], "no table"),
        (whole[1:], "damaged"),
        (whole[-48:], "damaged"),
        (bytes(40) + whole[-8:], "damaged"),
        (b"\xff" * 40 + whole[-8:], "number without end"),
        (bytes(turned), "another checksum"),
        (table([(b"", b"\xff")]), "no entry"),
        (table([(b"", header(endianness=1)), (NAME, listed())]), "big-endian"),
        (table([(b"m" * 5000, listed())]), "a name that is too long"),
        (table([(NAME, listed())], repeats=9), "more than once"),
        (table([HEADER, *((name, listed()) for name in names)]), "overlap"),
    ):
        refuses_list(content, reason)


def test_lists_of_very_many_files_take_no_quadratic_time(refuses_list):
    pairs = [(b"", header(num_shards=20_000))]
    told = tensor_bundle_pb2.BundleEntryProto.FromString(listed())
    for number in range(20_000):
        told.shard_id = number
        name = NAME.replace(b"/a/", f"/{number:05}/".encode())
        pairs.append((name, told.SerializeToString()))
    refuses_list(table(pairs), "data-00000-of-20000: No such file")


@pytest.mark.medium
def test_lists_of_very_many_parts_are_refused(checkpoint):
    """Each of them empty, and thus short enough to be read again."""
    content = table([], repeats=100_000)
    began = time.process_time()
    with pytest.raises(InputError, match="more than 8,192 parts"):
        read_checkpoint(checkpoint(content))
    assert time.process_time() - began < 20


def test_a_checkpoint_cut_in_half_is_refused(checkpoint):
    prefix = checkpoint(table([HEADER, (NAME, listed())]))
    data = prefix.with_name("ckpt-1.data-00000-of-00001")
    for size, reason in ((4, "of which 4"), (0, "damaged")):
        data.write_bytes(NUMBERS[:size])
        with pytest.raises(InputError, match=reason):
            read_checkpoint(prefix)
    data.unlink()
    with pytest.raises(InputError, match="No such file"):
        read_checkpoint(prefix)
