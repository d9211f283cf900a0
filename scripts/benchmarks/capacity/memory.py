"""Memory of a server: what a loaded version and batches at work take.

Measured through TensorFlow's C API, in a process without Python's TensorFlow,
as TensorFlow Serving loads and runs a version: its own binary adds its ports.
"""

import concurrent.futures
import pathlib
import re

_SIGNATURE = "serving_default"


def measure(folder, texts, rows=64, threads=(1, 2)) -> dict:
    """Loads a version two times, and runs full batches side by side.

    Args:
        folder: a version folder.
        texts: sentences to draw from.
        rows: of a batch.
        threads: batches at a time; rising.

    Returns:
        MiB of the process: `library`, without a model; `loaded`, with one;
        `loaded_again`, with the same once more, as when one version replaces
        another; `batches`, by the number at a time, the most until then.
    """
    from keras_transformer.export.verification.c_api import (
        CApiModel,
        disable_xla,
        find_library,
    )

    library = find_library()
    if library is None:
        raise SystemExit("TensorFlow comes without its C++ library here")
    disable_xla()
    before = _mib("VmRSS")
    model = CApiModel(folder, library)
    loaded = _mib("VmRSS")
    other = CApiModel(folder, library)
    found = {
        "library": before,
        "loaded": loaded,
        "loaded_again": _mib("VmRSS"),
        "batches": {},
    }
    longest = [text.encode() for text in sorted(texts, key=len)[-rows:]]
    inputs = {"text": [longest[i % len(longest)] for i in range(rows)]}
    for number in threads:
        with concurrent.futures.ThreadPoolExecutor(number) as pool:
            runs = [
                pool.submit(model.run, _SIGNATURE, inputs)
                for _ in range(2 * number)
            ]
            for one in runs:
                one.result()
        found["batches"][number] = _mib("VmHWM")
    del other
    return found


def _mib(name):
    text = pathlib.Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.search(rf"{name}:\s+(\d+) kB", text)[1]) / 1024
