"""Zip files of tensors: what is read, what is refused before it does harm."""

import collections
import io
import pickle
import struct
import warnings
import zipfile

import numpy as np
import pytest

from keras_transformer.errors import InputError
from keras_transformer.importing import tensors
from keras_transformer.importing.tensors import read_npz, read_state_dict

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


def test_damaged_npz_are_refused(write):
    for content, reason in (
        (b"", "damaged"),
        (b"PK no", "damaged"),
        (npz(a=VALUES)[:-40], "damaged"),
        (npz(a=VALUES).replace(b"(2, 3)", b"(9, 3)"), "damaged"),
        (npz(a=np.array([{}], object)), "damaged.*object"),
        # Both would be read as the last.
        (
            zipped(("a.npy", b""), ("a.npy", npy(VALUES))),
            "damaged.*more than once",
        ),
        (bomb(), "bytes that unpack to 10000000"),
        (damaged_lzma(), "damaged.*compressed otherwise"),
        (npy_zip("{'descr': ('<f4', "), "damaged"),
        (npy_zip("'''"), "damaged"),
        (npy_zip("-" * 9000), "damaged"),
        (npy_zip("(" * 9000), "damaged"),
    ):
        with pytest.raises(InputError, match=reason):
            read_npz(write(content, "m.npz"))


def damaged_lzma():
    random = np.random.default_rng(0).bytes(700)
    content = zipped(("a.npy", random), compression=zipfile.ZIP_LZMA)
    return content[:70] + b"\xff" * 130 + content[200:]


def npy_zip(header):
    """An `.npz` file with an array of this header, 40 zeros."""
    text = header.encode()
    begin = b"\x93NUMPY\1\0" + struct.pack("<H", len(text))
    return zipped(("a.npy", begin + text + bytes(40)))


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


def test_state_dictionaries_of_torch_before_1_6(write):
    state = {
        "a": tensor(name="7"),
        "b": tensor(0, (3, 2), (1, 3), "HalfStorage", "1"),
        "c": tensor(2, (2,), (1,), "FloatStorage", "7"),
    }
    storages = {"7": VALUES, "1": VALUES.astype("f2")}
    content = before_1_6(state, storages)
    read = read_state_dict(write(content, "pytorch_model.bin"))
    np.testing.assert_array_equal(read["a"], VALUES)
    np.testing.assert_array_equal(read["b"], VALUES.T)
    assert read["c"].tolist() == [2, 3]
    proof = {"a": Call("os", "system", "true")}
    for damaged, reason in (
        (content[:-1], "damaged"),
        (content[:100], "damaged"),
        (before_1_6(state, storages, 2**62), "damaged"),
        (before_1_6(state, {"1": VALUES}), "damaged"),
        (before_1_6(proof, {}), "asks for os.system"),
    ):
        with pytest.raises(InputError, match=reason):
            read_state_dict(write(damaged, "pytorch_model.bin"))


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


def test_what_torch_keeps_beside_the_tensors_is_passed_over(write):
    state = collections.OrderedDict(a=tensor())
    state._metadata = collections.OrderedDict({"": {"version": 1}})
    parameter = Call("torch._utils", "_rebuild_parameter", tensor(), True, {})
    state["b"] = parameter
    path = write(torch_file(state, {"0": VALUES}), "pytorch_model.bin")
    read = read_state_dict(path)
    assert read.keys() == {"a", "b"}
    np.testing.assert_array_equal(read["b"], VALUES)


def test_a_tensor_is_no_storage(write):
    """One without numbers may say that it is as long as it likes."""
    inner = tensor(0, (2**40, 0), (0, 0))
    hooks = Call("collections", "OrderedDict")
    rebuild = "torch._utils", "_rebuild_tensor_v2"
    for storage in (inner, tensor(), ("a", "b"), "text"):
        outer = Call(*rebuild, storage, 0, (6,), (1,), False, hooks)
        content = torch_file({"a": outer}, {"0": VALUES})
        with pytest.raises(InputError, match="of what is no storage"):
            read_state_dict(write(content, "pytorch_model.bin"))


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


@pytest.mark.parametrize(
    ("pickled", "reason"),
    [
        (b"}" + TUPLES + b"K\1s.", "keys aren't text"),
        (b"})" + b"\x85" * 100000 + b"K\1s.", "keys aren't text"),
        (stored(TUPLES, text(b"0")) + b".", "without a name"),
        (stored(STORAGE, TUPLES) + b".", "without a name"),
        (stored(text(b"<f1"), text(b"0")) + b".", "a storage of '<f1'"),
        (ORDERED + b"(" + TUPLES + b"tR.", "made of something"),
        (rebuilt(TUPLES, TUPLES), "a tensor of shape"),
        (rebuilt(b"(" + b"K\1" * 65 + b"t", b")"), "a tensor of shape"),
        (rebuilt(b"K\1", b"K\1"), "without a shape"),
        (b"\x8f" * 1000 + b"}.", "EMPTY_SET in a pickle"),
        (b"]q\0h\0h\0\x86a.", "EMPTY_LIST in a pickle"),
        (b"}2.", "DUP in a pickle"),
        (b"}p33554432\n.", "PUT in a pickle"),
        (b"K\1K\2\x85R.", "calls what is no function"),
        (ORDERED + b"K\1R.", "calls what is no function"),
        (b"K\1" + text(b"a") + b"K\2s.", "fills what is no dictionary"),
        (b"}(K\1u.", "damaged"),
        (b"0.", "POP in a pickle"),
        (b"s.", "takes what isn't there"),
        (b"t.", "damaged"),
        (b"h\5.", "damaged"),
        (b"}", "damaged"),
        (b"", "damaged"),
    ],
)
def test_pickles_that_torch_does_not_write(pickled, reason, write):
    """Some of them would keep Python's own reader busy for ever."""
    content = with_pickle(b"\x80\2" + pickled, **{"0": VALUES})
    with pytest.raises(InputError, match=reason) as error:
        read_state_dict(write(content, "pytorch_model.bin"))
    assert "\n" not in str(error.value)


def test_a_pickle_of_ever_so_many_steps(write, monkeypatch):
    monkeypatch.setattr(tensors, "_MOST_OPCODES", 1000)
    path = write(with_pickle(b"\x80\2" + b"N" * 2000 + b"."), "p.bin")
    with pytest.raises(InputError, match="more than 1000 steps"):
        read_state_dict(path)


def test_attributes_hide_nothing_from_the_check(write):
    """One named `items` stood for the dictionary's own."""
    attribute = b"}" + text(b"items") + ORDERED + b"sb."
    pickled = ORDERED + b")R" + text(b"a") + text(b"bad") + b"s" + attribute
    with pytest.raises(InputError, match="no dictionary of tensors"):
        read_state_dict(write(with_pickle(pickled), "pytorch_model.bin"))


def test_a_value_is_kept_under_any_number(write):
    """Python's own reader would take a list of as many."""
    pickled = b"\x80\2}r" + struct.pack("<I", 2**32 - 1) + b"."
    assert read_state_dict(write(with_pickle(pickled), "p.bin")) == {}


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
        (pickle.dumps({"a": 1}, protocol=2), "damaged.*not a zip file"),
        (whole[:-30], "damaged"),
        (torch_file({"a": 1}, {}), "no dictionary of tensors"),
        (torch_file([1], {}), "no dictionary of tensors"),
        (torch_file({"a": tensor()}, {}), "damaged"),
        (bomb("archive/data.pkl"), "unpack to"),
    ):
        with pytest.raises(InputError, match=reason):
            read_state_dict(write(content, "pytorch_model.bin"))
