"""Zip files of tensors: what is read, what is refused before it does harm."""

import collections
import io
import pickle
import struct
import warnings
import zipfile

import numpy as np
import pytest

from keras_transformer.importing import tensors
from keras_transformer.importing.tensors import read_npz, read_state_dict
from tests.importing.conftest import by_reason

VALUES = np.arange(6, dtype="f4").reshape(2, 3)


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def zipped(*entries, compression=zipfile.ZIP_STORED):
    """A zip file of names and contents."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(file, "w", compression) as archive,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # Of a name that is there already.
        for entry in entries:
            archive.writestr(*entry)
    return file.getvalue()


def test_npz_by_rows_and_by_columns(write):
    columns = np.asfortranarray(VALUES)
    read = read_npz(write(npz(a=VALUES, b=columns, c=np.int8([1])), "m.npz"))
    np.testing.assert_array_equal(read["a"], VALUES)
    np.testing.assert_array_equal(read["b"], VALUES)
    assert read["c"].tolist() == [1]


def bomb(name="a.npy"):
    content = b"\0" * 10**7
    return zipped((name, content), compression=zipfile.ZIP_DEFLATED)


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def damaged_lzma():
    random = np.random.default_rng(0).bytes(700)
    content = zipped(("a.npy", random), compression=zipfile.ZIP_LZMA)
    return content[:70] + b"\xff" * 130 + content[200:]


def npy_zip(header):
    """An `.npz` file with an array of this header, 40 zeros."""
    text = header.encode()
    begin = b"\x93NUMPY\1\0" + struct.pack("<H", len(text))
    return zipped(("a.npy", begin + text + bytes(40)))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "damaged"),
        (b"PK no", "damaged"),
        (npz(a=VALUES)[:-40], "damaged"),
        (npz(a=VALUES).replace(b"(2, 3)", b"(9, 3)"), "damaged"),
        (npz(a=np.array([{}], object)), "damaged.*object"),
        # Both would be read as the last.
        (zipped(("a.npy", b""), ("a.npy", npy(VALUES))), "more than once"),
        (bomb(), "bytes that unpack to 10000000"),
        (damaged_lzma(), "damaged.*compressed otherwise"),
        (npy_zip("{'descr': ('<f4', "), "damaged"),
        (npy_zip("'''"), "damaged"),
        (npy_zip("-" * 9000), "damaged"),
        (npy_zip("(" * 9000), "damaged"),
    ],
    ids=by_reason,
)
def test_damaged_npz_are_refused(content, reason, refuses_file):
    refuses_file(read_npz, content, reason)


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
    return with_pickle(content.getvalue(), **storages)


def with_pickle(content, **storages):
    """A file of torch's with any bytes for its pickle."""
    data = [
        (f"archive/data/{name}", array.tobytes())
        for name, array in storages.items()
    ]
    return zipped(("archive/data.pkl", content), *data)


class Writer(pickle._Pickler):
    """Writes what PyTorch would, without PyTorch."""

    view = ()

    def persistent_id(self, value):
        if isinstance(value, Stored):
            return value.key + self.view
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


def tensor(
    offset=0, shape=(2, 3), strides=(3, 1), kind="FloatStorage", name="0"
):
    rebuild = "torch._utils", "_rebuild_tensor_v2"
    stored, hooks = Stored(kind, name), Call("collections", "OrderedDict")
    return Call(*rebuild, stored, offset, shape, strides, False, hooks)


def stateful(**changes):
    """A file of one tensor."""
    return torch_file({"a": tensor(**changes)}, {"0": VALUES})


def test_state_dictionaries_of_torch(write):
    state = {"a": tensor(), "b": tensor(0, (3, 2), (1, 3))}
    read = read_state_dict(write(torch_file(state, {"0": VALUES})))
    np.testing.assert_array_equal(read["a"], VALUES)
    np.testing.assert_array_equal(read["b"], VALUES.T)
    state, storages = {"a": tensor(kind="HalfStorage")}, VALUES.astype("f2")
    read = read_state_dict(write(torch_file(state, {"0": storages})))
    np.testing.assert_array_equal(read["a"], VALUES)
    assert read["a"].dtype == np.float32


def before_1_6(state, storages, numbers=None):
    """The bytes of a file of PyTorch before 1.6."""
    file = io.BytesIO()
    pickle.dump(0x1950A86A20F9469CFC6C, file, protocol=2)
    pickle.dump(1001, file, protocol=2)
    pickle.dump({"little_endian": True, "type_sizes": {"int": 4}}, file, 2)
    writer = Writer(file, protocol=2)
    writer.view = (None,)
    writer.dump(state)
    pickle.dump(sorted(storages), file, protocol=2)
    for _, array in sorted(storages.items()):
        file.write(struct.pack("<q", numbers or array.size) + array.tobytes())
    return file.getvalue()


OLD_STATE = {
    "a": tensor(name="7"),
    "b": tensor(0, (3, 2), (1, 3), "HalfStorage", "1"),
    "c": tensor(2, (2,), (1,), "FloatStorage", "7"),
}
OLD_STORAGES = {"7": VALUES, "1": VALUES.astype("f2")}
OLD = before_1_6(OLD_STATE, OLD_STORAGES)


def test_state_dictionaries_of_torch_before_1_6(write):
    read = read_state_dict(write(OLD))
    np.testing.assert_array_equal(read["a"], VALUES)
    np.testing.assert_array_equal(read["b"], VALUES.T)
    assert read["c"].tolist() == [2, 3]


def test_what_torch_keeps_beside_the_tensors_is_passed_over(write):
    state = collections.OrderedDict(a=tensor())
    state._metadata = collections.OrderedDict({"": {"version": 1}})
    parameter = Call("torch._utils", "_rebuild_parameter", tensor(), True, {})
    state["b"] = parameter
    read = read_state_dict(write(torch_file(state, {"0": VALUES})))
    assert read.keys() == {"a", "b"}
    np.testing.assert_array_equal(read["b"], VALUES)


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value


# A tuple that holds twice the one before it, and so on.
TUPLES = b")" + b"".join(b"q%ch%c\x86" % (n, n) for n in range(60))
STORAGE = b"ctorch\nFloatStorage\n"
REBUILD = b"ctorch._utils\n_rebuild_tensor_v2\n"
ORDERED = b"ccollections\nOrderedDict\n"


def stored(kind, name):
    return b"(" + text(b"storage") + kind + name + text(b"cpu") + b"K\6tQ"


def rebuilt(shape, strides):
    storage = stored(STORAGE, text(b"0"))
    return REBUILD + b"(" + storage + b"K\0" + shape + strides + b"\x89}tR."


# An attribute named `items`, which stood for the dictionary's own.
HIDING = ORDERED + b")R" + text(b"a") + text(b"bad") + b"s}" + text(b"items")
HIDING += ORDERED + b"sb."


def calling(*call):
    return torch_file({"a": Call(*call)}, {})


def made_of(storage):
    """A file of a tensor of anything."""
    hooks = Call("collections", "OrderedDict")
    rebuild = "torch._utils", "_rebuild_tensor_v2"
    outer = Call(*rebuild, storage, 0, (6,), (1,), False, hooks)
    return torch_file({"a": outer}, {"0": VALUES})


STEPS = {
    b"}" + TUPLES + b"K\1s.": "keys aren't text",
    b"})" + b"\x85" * 100000 + b"K\1s.": "keys aren't text",
    stored(TUPLES, text(b"0")) + b".": "without a name",
    stored(STORAGE, TUPLES) + b".": "without a name",
    stored(text(b"<f1"), text(b"0")) + b".": "a storage of '<f1'",
    ORDERED + b"(" + TUPLES + b"tR.": "made of something",
    rebuilt(TUPLES, TUPLES): "a tensor of shape",
    rebuilt(b"(" + b"K\1" * 65 + b"t", b")"): "a tensor of shape",
    rebuilt(b"K\1", b"K\1"): "without a shape",
    b"\x8f" * 1000 + b"}.": "EMPTY_SET in a pickle",
    b"]q\0h\0h\0\x86a.": "EMPTY_LIST in a pickle",
    b"}2.": "DUP in a pickle",
    b"}p33554432\n.": "PUT in a pickle",
    b"K\1K\2\x85R.": "calls what is no function",
    ORDERED + b"K\1R.": "calls what is no function",
    b"K\1" + text(b"a") + b"K\2s.": "fills what is no dictionary",
    b"}(K\1u.": "damaged",
    b"0.": "POP in a pickle",
    b"s.": "takes what isn't there",
    b"t.": "damaged",
    b"h\5.": "damaged",
    b"}": "damaged",
    b"": "damaged",
    HIDING: "no dictionary of tensors",
}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        # Some of them would keep Python's own reader busy for ever.
        *(
            (with_pickle(b"\x80\2" + steps, **{"0": VALUES}), reason)
            for steps, reason in STEPS.items()
        ),
        (calling("os", "system", "true"), "asks for os.system"),
        (calling("builtins", "eval", "1"), "asks for builtins.eval"),
        (calling("torch", "load", "1"), "asks for torch.load"),
        (stateful(shape=(3, 3)), "beyond its storage"),
        (stateful(offset=1), "beyond its storage"),
        (stateful(strides=(6, 1)), "beyond its storage"),
        (stateful(strides=(-3, 1)), "a tensor of shape"),
        (stateful(shape=(10**9,), strides=(0,)), "beyond its storage"),
        (stateful(shape=(2,)), "a tensor of shape"),
        # One without numbers may say that it is as long as it likes.
        (made_of(tensor(0, (2**40, 0), (0, 0))), "of what is no storage"),
        (made_of(tensor()), "of what is no storage"),
        (made_of(("a", "b")), "of what is no storage"),
        (made_of("text"), "of what is no storage"),
        (pickle.dumps({"a": 1}, protocol=2), "damaged.*not a zip file"),
        (stateful()[:-30], "damaged"),
        (torch_file({"a": 1}, {}), "no dictionary of tensors"),
        (torch_file([1], {}), "no dictionary of tensors"),
        (torch_file({"a": tensor()}, {}), "damaged"),
        (bomb("archive/data.pkl"), "unpack to"),
        (OLD[:-1], "damaged"),
        (OLD[:100], "damaged"),
        (before_1_6(OLD_STATE, OLD_STORAGES, 2**62), "damaged"),
        (before_1_6(OLD_STATE, {"1": VALUES}), "damaged"),
        (
            before_1_6({"a": Call("os", "system", "true")}, {}),
            "asks for os.system",
        ),
    ],
    ids=by_reason,
)
def test_what_torch_does_not_write_is_refused(content, reason, refuses_file):
    refuses_file(read_state_dict, content, reason)


def test_a_pickle_of_ever_so_many_steps(refuses_file, monkeypatch):
    monkeypatch.setattr(tensors, "_MOST_OPCODES", 1000)
    content = with_pickle(b"\x80\2" + b"N" * 2000 + b".")
    refuses_file(read_state_dict, content, "more than 1000 steps")


def test_a_value_is_kept_under_any_number(write):
    """Python's own reader would take a list of as many."""
    pickled = b"\x80\2}r" + struct.pack("<I", 2**32 - 1) + b"."
    assert read_state_dict(write(with_pickle(pickled))) == {}


def test_tensors_that_share_a_storage_ever_so_often(write, refuses_file):
    def sharing(count):
        shared = {"shape": (1000,), "strides": (1,)}
        state = {str(number): tensor(**shared) for number in range(count)}
        return torch_file(state, {"0": np.zeros(1000, "f4")})

    assert len(read_state_dict(write(sharing(4)))) == 4
    refuses_file(read_state_dict, sharing(100), "share what is there too often")
