import os
import pathlib
import resource
import sys

import pytest

from keras_transformer.system import machine
from tests.processes import run_python

# Arenas show as <heap nr="..."> in what glibc says of itself.
COUNT = """
import ctypes, threading
from keras_transformer.system.machine import spare_memory
libc = ctypes.CDLL(None)
if {share}:
    spare_memory()
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
    code = COUNT.format(share=share)
    return run_python("-c", code).stdout.count("<heap nr=")


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's malloc")
def test_threads_share_a_pool():
    assert arenas(False) > 1
    assert arenas(True) == 1


GAPS = """
import ctypes, pathlib
from keras_transformer.system.machine import spare_memory
libc = ctypes.CDLL(None)
if {spare}:
    spare_memory()
libc.malloc.restype = libc.calloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]
def tensor(mib):
    address = libc.malloc(mib << 20)
    ctypes.memset(address, 1, mib << 20)
    return address
libc.free(tensor(30))  # From now on glibc keeps what is no larger.
between = []
for _ in range(20):
    large = tensor(10)
    between.append(tensor(1))
    between.append(large)
for large in between[1::2]:
    libc.free(large)
pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
print(pages * 4096 >> 20)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc's malloc")
def test_what_a_long_batch_took_is_given_back():
    def mib(code):
        return int(run_python("-c", code).stdout)

    kept, spared = (mib(GAPS.format(spare=spare)) for spare in (False, True))
    assert kept > spared + 100  # MiB, of 200 freed
    code = GAPS.format(spare=False).replace(
        "pages =",
        "from keras_transformer.system.machine import give_back_memory\n"
        "give_back_memory()\npages =",
    )
    assert kept > mib(code) + 100


CPUINFO = "processor : 0\nflags : fpu avx2 {flag}\n"


@pytest.mark.parametrize(
    ("flag", "bfloat16", "int8"),
    [
        ("avx512_bf16", True, False),
        ("amx_bf16", True, False),
        ("avx512_vnni", False, True),
        ("avx_vnni", False, True),
        ("avx512f", False, False),
    ],
)
def test_the_processor_says_what_it_multiplies(
    flag, bfloat16, int8, tmp_path, monkeypatch
):
    monkeypatch.setattr(machine, "has_gpu", lambda: False)
    (tmp_path / "cpuinfo").write_text(CPUINFO.format(flag=flag))
    monkeypatch.setattr(machine, "_CPUINFO", tmp_path / "cpuinfo")
    assert machine.multiplies_bfloat16() is bfloat16
    assert machine.multiplies_int8() is int8
    monkeypatch.setattr(machine, "_CPUINFO", tmp_path / "none")
    assert not machine.multiplies_bfloat16()
    assert not machine.multiplies_int8()


@pytest.mark.parametrize(
    ("flags", "sentences", "before", "after"),
    [
        ("fpu avx2 avx512f", 64, None, "1"),
        ("fpu avx2", 1, None, None),
        ("fpu avx2", 64, "0", "0"),
        ("fpu avx2 avx_vnni", 64, None, None),
        ("fpu avx2 avx512f amx_tile", 64, None, None),
        ("fpu avx", 64, None, None),
    ],
)
def test_batches_are_for_onednn_where_it_is_off(
    flags, sentences, before, after, tmp_path, monkeypatch
):
    (tmp_path / "cpuinfo").write_text(f"processor : 0\nflags : {flags}\n")
    monkeypatch.setattr(machine, "_CPUINFO", tmp_path / "cpuinfo")
    # So that it is as it was after the test.
    monkeypatch.setenv(machine.USES_ONEDNN, "")
    monkeypatch.delenv(machine.USES_ONEDNN)
    if before is not None:
        monkeypatch.setenv(machine.USES_ONEDNN, before)
    machine.choose_onednn(sentences)
    assert os.environ.get(machine.USES_ONEDNN) == after


def test_as_many_files_are_open_as_the_system_lets():
    kind = resource.RLIMIT_NOFILE
    before = soft, hard = resource.getrlimit(kind)
    try:
        resource.setrlimit(kind, (min(soft, hard - 1), hard))
        machine.allow_many_connections()
        assert resource.getrlimit(kind) == (hard, hard)
    finally:
        resource.setrlimit(kind, before)


def test_cores_where_python_does_not_know_which(monkeypatch):
    monkeypatch.setattr(machine, "_CPU_SHARE", pathlib.Path("/none"))
    monkeypatch.delattr(os, "sched_getaffinity")  # as on macOS
    assert machine.usable_cores() == os.cpu_count()


@pytest.mark.parametrize(
    ("share", "cores"),
    [("max 100000", 8), ("250000 100000", 2), ("50000 100000", 1)],
)
def test_cores_of_a_container(share, cores, tmp_path, monkeypatch):
    path = tmp_path / "cpu.max"
    path.write_text(f"{share}\n")
    monkeypatch.setattr(machine, "_CPU_SHARE", path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    assert machine.usable_cores() == cores
