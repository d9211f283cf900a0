"""safetensors files as transformers writes them, from arrays and to them."""

import json
import pathlib
import struct

import numpy as np


def read(path: pathlib.Path) -> dict[str, np.ndarray]:
    """Float32 arrays by name."""
    content = path.read_bytes()
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    header.pop("__metadata__", None)
    arrays = {}
    for name, entry in header.items():
        begin, end = (8 + length + n for n in entry["data_offsets"])
        array = np.frombuffer(content[begin:end], "<f4").copy()
        arrays[name] = array.reshape(entry["shape"])
    return arrays


def write(path: pathlib.Path, arrays: dict[str, np.ndarray]) -> None:
    """Writes float32 arrays."""
    header, data = {}, b""
    for name, array in arrays.items():
        content = np.ascontiguousarray(array, "<f4").tobytes()
        header[name] = {
            "dtype": "F32",
            "shape": array.shape,
            "data_offsets": [len(data), len(data) + len(content)],
        }
        data += content
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
