"""Memory doesn't grow with the number of lines."""

import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINES = 100_000
# Peak memory in MiB when so many lines are out, of this process and, with
# workers, of the largest of them.
PROGRAM = """
import json, pathlib, re, sys
from keras_transformer.translation.stream import one_by_one, stream_lines
from keras_transformer.translation.workers import translation_workers
from tests.toy_models import SmallTranslator

def peak(process="self"):
    text = pathlib.Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmHWM:\\s*(\\d+) kB", text)[1]) / 1024

def lines(count):
    for i in range(count):
        yield "abcdefghijklmnop"[i % 7 : i % 7 + 1 + i % 9] + "\\n"

def main(count, workers):
    peaks = {}
    with translation_workers(SmallTranslator(), workers or 1) as pool:
        translate = pool.map
        if not workers:
            translate = one_by_one(SmallTranslator()())
        results = stream_lines(lines(count), translate, batch_size=20)
        for done, _ in enumerate(results, 1):
            if done in (1000, count):
                of_workers = [peak(pid) for pid in pool.process_ids]
                peaks[done] = [peak(), max(of_workers)]
    print(json.dumps(list(peaks.values())))

if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_peak_memory_is_flat_after_a_thousand_lines(workers):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(LINES), str(workers)],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    early, late = json.loads(done.stdout)
    print(early, late)
    for before, after in zip(early, late, strict=True):
        assert after < before + 16, (early, late)
