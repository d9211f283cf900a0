import resource
import subprocess
import sys

import pytest

from keras_transformer import machine

# Arenas show as <heap nr="..."> in what glibc says of itself.
COUNT = """
import ctypes, threading
from keras_transformer.machine import share_memory_pool
libc = ctypes.CDLL(None)
if {share}:
    share_memory_pool()
libc.malloc.restype = ctypes.c_void_p
gate = threading.Barrier(4)
def allocate():
    libc.malloc(100_000)
    gate.wait()
threads = [threading.Thread(target=allocate) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc.fflush(None)
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
"""


def arenas(share):
    done = subprocess.run(
        [sys.executable, "-c", COUNT.format(share=share)],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.count("<heap nr=")


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's malloc")
def test_threads_share_a_pool():
    assert arenas(False) > 1
    assert arenas(True) == 1


CPUINFO = "processor : 0\nflags : fpu avx2 {flag}\n"


@pytest.mark.parametrize(
    "flag, expected",
    [("avx512_bf16", True), ("amx_bf16", True), ("avx512f", False)],
)
def test_bfloat16_is_told_by_the_processor(
    flag, expected, tmp_path, monkeypatch
):
    monkeypatch.setattr(machine, "has_gpu", lambda: False)
    (tmp_path / "cpuinfo").write_text(CPUINFO.format(flag=flag))
    monkeypatch.setattr(machine, "_CPUINFO", tmp_path / "cpuinfo")
    assert machine.multiplies_bfloat16() is expected
    monkeypatch.setattr(machine, "_CPUINFO", tmp_path / "none")
    assert machine.multiplies_bfloat16() is False


def test_as_many_files_are_open_as_the_system_lets():
    kind = resource.RLIMIT_NOFILE
    before = soft, hard = resource.getrlimit(kind)
    try:
        resource.setrlimit(kind, (min(soft, hard - 1), hard))
        machine.allow_many_connections()
        assert resource.getrlimit(kind) == (hard, hard)
    finally:
        resource.setrlimit(kind, before)
