"""Files of tensors: what is read, and what is refused before it does harm."""

import io
import json
import pickle
import struct
import zipfile

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.errors import InputError
from keras_transformer.importing.tensors import (
    read_checkpoint,
    read_npz,
    read_safetensors,
    read_state_dict,
)

VALUES = np.arange(6, dtype="f4").reshape(2, 3)


def safetensors(entries, data=None, length=None):
    data = VALUES.tobytes() if data is None else data
    header = json.dumps(entries).encode()
    size = len(header) if length is None else length
    return struct.pack("<Q", size) + header + data


def entry(**changes):
    whole = {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}
    return {"a": {**whole, **changes}, "__metadata__": {"format": "pt"}}


@pytest.fixture
def write(tmp_path):
    def make(content, name="model.safetensors"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return make


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
        (safetensors(entry(dtype="I8")), "a is I8, as in quantised"),
        (safetensors({"a": 3}), "damaged"),
        (safetensors([1]), "damaged"),
        (safetensors(entry())[:-1].replace(b"{", b"[", 1), "damaged"),
        (struct.pack("<Q", 200000) + b"[" * 200000, "damaged"),
    ],
)
def test_damaged_safetensors_are_refused(content, reason, write):
    with pytest.raises(InputError, match=reason) as error:
        read_safetensors(write(content))
    assert "\n" not in str(error.value)


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def test_npz_by_rows_and_by_columns(write):
    columns = np.asfortranarray(VALUES)
    read = read_npz(write(npz(a=VALUES, b=columns, c=np.int8([1])), "m.npz"))
    np.testing.assert_array_equal(read["a"], VALUES)
    np.testing.assert_array_equal(read["b"], VALUES)
    assert read["c"].tolist() == [1]


def bomb(name="a.npy", size=10**8):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, b"\0" * size)
    return file.getvalue()


def test_damaged_npz_are_refused(write):
    for content, reason in (
        (b"", "damaged"),
        (b"PK no", "damaged"),
        (npz(a=VALUES)[:-40], "damaged"),
        (npz(a=VALUES).replace(b"(2, 3)", b"(9, 3)"), "damaged"),
        (pickled_npz(), "damaged.*object"),
        (bomb(), "bytes that unpack to 100000000"),
    ):
        with pytest.raises(InputError, match=reason):
            read_npz(write(content, "m.npz"))


def pickled_npz():
    file = io.BytesIO()
    np.savez(file, a=np.array([{}], object))
    return file.getvalue()


class Storage:
    """Stands for a class of PyTorch's in a pickle."""

    def __init__(self, module, name):
        self.module, self.name = module, name


class Call:
    """Anything that a pickle may call."""

    def __init__(self, module, name, *arguments):
        self.function = Storage(module, name)
        self.arguments = arguments


def torch_file(state, storages):
    """The bytes of a `pytorch_model.bin`."""
    content = io.BytesIO()
    Writer(content, protocol=2).dump(state)
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", content.getvalue())
        for name, array in storages.items():
            archive.writestr(f"archive/data/{name}", array.tobytes())
    return file.getvalue()


class Writer(pickle._Pickler):
    """Writes what PyTorch would, without PyTorch."""

    def persistent_id(self, value):
        if isinstance(value, Stored):
            return value.key
        return None

    def save(self, value, save_persistent_id=True):
        if isinstance(value, Storage):
            self.write(f"c{value.module}\n{value.name}\n".encode())
        elif isinstance(value, Call):
            self.save(value.function)
            self.save(value.arguments)
            self.write(pickle.REDUCE)
        else:
            super().save(value, save_persistent_id)


class Stored:
    """A storage, by its name in the file."""

    def __init__(self, kind, name="0"):
        self.key = ("storage", Storage("torch", kind), name, "cpu", 6)


def tensor(offset=0, shape=(2, 3), strides=(3, 1), kind="FloatStorage"):
    rebuild = "torch._utils", "_rebuild_tensor_v2"
    hooks = Call("collections", "OrderedDict")
    return Call(*rebuild, Stored(kind), offset, shape, strides, False, hooks)


def test_state_dictionaries_of_torch(write):
    state = {"a": tensor(), "b": tensor(0, (3, 2), (1, 3))}
    path = write(torch_file(state, {"0": VALUES}), "pytorch_model.bin")
    read = read_state_dict(path)
    np.testing.assert_array_equal(read["a"], VALUES)
    np.testing.assert_array_equal(read["b"], VALUES.T)
    half = torch_file(
        {"a": tensor(kind="HalfStorage")}, {"0": VALUES.astype("f2")}
    )
    read = read_state_dict(write(half, "pytorch_model.bin"))
    np.testing.assert_array_equal(read["a"], VALUES)
    assert read["a"].dtype == np.float32


def test_a_pickle_that_calls_is_refused_and_calls_nothing(write, tmp_path):
    proof = tmp_path / "called"
    state = {"a": Call("os", "system", f"touch {proof}")}
    path = write(torch_file(state, {}), "pytorch_model.bin")
    with pytest.raises(InputError, match="asks for os.system"):
        read_state_dict(path)
    assert not proof.exists()
    for module, name in (("builtins", "eval"), ("torch", "load")):
        path = write(torch_file({"a": Call(module, name, "1")}, {}), "p.bin")
        with pytest.raises(InputError, match=f"{module}.{name}"):
            read_state_dict(path)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"shape": (3, 3)}, "beyond its storage"),
        ({"offset": 1}, "beyond its storage"),
        ({"strides": (6, 1)}, "beyond its storage"),
        ({"strides": (-3, 1)}, "a tensor of shape"),
        ({"shape": (10**9,), "strides": (0,)}, "beyond its storage"),
        ({"shape": (2,)}, "a tensor of shape"),
    ],
)
def test_tensors_beyond_their_storage_are_refused(changes, reason, write):
    content = torch_file({"a": tensor(**changes)}, {"0": VALUES})
    with pytest.raises(InputError, match=reason):
        read_state_dict(write(content, "pytorch_model.bin"))


def zipped(pickled):
    """A file of torch's with any bytes for its pickle."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
    return file.getvalue()


@pytest.mark.parametrize(
    "pickled",
    [
        b"\x80\x02}r" + struct.pack("<I", 2**25) + b".",
        b"}p33554432\n.",
    ],
    ids=["bytes", "text"],
)
def test_a_pickle_that_wants_a_memory_of_gigabytes(pickled, write):
    with pytest.raises(InputError, match="keeps a value 33554432"):
        read_state_dict(write(zipped(pickled), "pytorch_model.bin"))


def test_tensors_that_share_a_storage_ever_so_often(write):
    values = np.zeros(1000, "f4")
    shared = {"shape": (1000,), "strides": (1,)}
    for count in (4, 100):
        state = {str(number): tensor(**shared) for number in range(count)}
        path = write(torch_file(state, {"0": values}), f"{count}.bin")
        if count == 4:
            assert len(read_state_dict(path)) == count
    with pytest.raises(InputError, match="share what is there too often"):
        read_state_dict(path)


def test_other_files_of_torch_are_refused(write):
    whole = torch_file({"a": tensor()}, {"0": VALUES})
    for content, reason in (
        (pickle.dumps({"a": 1}, protocol=2), "before PyTorch 1.6"),
        (whole[:-30], "before PyTorch 1.6|damaged"),
        (torch_file({"a": 1}, {}), "no dictionary of tensors"),
        (torch_file([1], {}), "no dictionary of tensors"),
        (torch_file({"a": tensor()}, {}), "damaged"),
        (bomb("archive/data.pkl"), "unpack to"),
    ):
        with pytest.raises(InputError, match=reason):
            read_state_dict(write(content, "pytorch_model.bin"))


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
