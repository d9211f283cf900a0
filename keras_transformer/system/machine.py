"""The machine: its cores, threads, memory, and what it multiplies fast."""

import contextlib
import ctypes
import gc
import os
import pathlib
import resource
import sys
import threading
import time
from collections.abc import Iterator

# Of glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_CPUINFO = pathlib.Path("/proc/cpuinfo")
_BFLOAT16_FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}  # x86, x86, Arm
_INT8_FLAGS = {"avx512_vnni", "avx_vnni"}  # x86
# With one of these TensorFlow uses oneDNN by itself: `DefaultOneDnnPolicy` of
# tensorflow/core/util/port.cc.
_ONEDNN_FLAGS = _INT8_FLAGS | {
    "avx512_bf16",
    "amx_tile",
    "amx_int8",
    "amx_bf16",
}
_CPU_SHARE = pathlib.Path("/sys/fs/cgroup/cpu.max")
USES_ONEDNN = "TF_ENABLE_ONEDNN_OPTS"
# Sentences of a batch from which on oneDNN is faster there.
_ONEDNN_SENTENCES = 32


def usable_cores() -> int:
    """Cores that this process may run on."""
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        cores = len(os.sched_getaffinity(0))
    # A container's share, such as of docker run --cpus; "max": no limit.
    with contextlib.suppress(OSError, ValueError):
        quota, period = map(int, _CPU_SHARE.read_text().split())
        cores = min(cores, max(1, quota // period))
    return cores


def spare_memory() -> None:
    """Has the C library, where it is glibc, keep less that is not in use.

    By default each thread keeps a pool of its own, and what one micro-batch
    has freed the other can't use. And a tensor of up to 32 MiB is in
    a pool, whose gaps fit no longer batch; where TensorFlow leaves tensors to
    the C library (without oneDNN), that is a tenth of a training's memory.
    To be called before threads are started.
    """
    mallopt = _of_glibc("mallopt")
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 1)
        # Above this size pages of their own, which are given back.
        mallopt(_M_MMAP_THRESHOLD, 2 << 20)
        # The pool itself isn't given back after each step, to be asked for
        # again: that costs time.
        mallopt(_M_TRIM_THRESHOLD, 256 << 20)


def use_threads(micro_batches: int) -> None:
    """Gives micro-batches that are computed beside each other a thread each.

    On more cores operations have several. All share one pool of memory. To be
    called before TensorFlow's first operation.

    Args:
        micro_batches: see `TrainingConfig.threads`; 1: operations keep all
            threads.
    """
    spare_memory()
    if micro_batches > 1:
        set_threads(max(1, usable_cores() // micro_batches), micro_batches)


def set_threads(threads: int, operations: int = 1) -> None:
    """Lets TensorFlow use so many threads, if it isn't at work already.

    Args:
        threads: of an operation.
        operations: that run beside each other.
    """
    import tensorflow as tf

    # Threads can't be changed once TensorFlow has begun.
    with contextlib.suppress(RuntimeError):
        tf.config.threading.set_inter_op_parallelism_threads(operations)
        tf.config.threading.set_intra_op_parallelism_threads(threads)


def choose_onednn(sentences: int) -> None:
    """Has TensorFlow use oneDNN for batches where it wouldn't by itself.

    On x86-64 processors without instructions for neural networks it doesn't.
    There oneDNN makes batches faster, and single sentences slower. To be
    called before TensorFlow is imported; what the environment says of it
    stays.

    Args:
        sentences: that are translated together.
    """
    if sentences < _ONEDNN_SENTENCES or _processor_has(_ONEDNN_FLAGS):
        return
    if has_avx2():
        os.environ.setdefault(USES_ONEDNN, "1")


def give_back_memory() -> None:
    """Gives the system what the C library keeps free, where it is glibc.

    Building a large graph leaves a hundred MiB.
    """
    malloc_trim = _of_glibc("malloc_trim")
    if malloc_trim is not None:
        malloc_trim(0)


def _of_glibc(name):
    """A function of the C library, None if it has none of that name."""
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), name, None)


def allow_many_connections() -> None:
    """Has the process open as many files and connections as it may.

    By default these are often 1024, which idle clients of a server use up.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def files_left() -> int:
    """The number of files and connections the process may still open."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = 64  # Where the system doesn't say.
    with contextlib.suppress(OSError):
        opened = len(os.listdir("/proc/self/fd"))
    return max(0, limit - opened)


def spare_collections() -> None:
    """Has Python no longer look for cycles among the objects of now.

    Those of TensorFlow take tenths of a second each time, in which no other
    thread runs. They live as long as the process anyway.
    """
    gc.collect()
    gc.freeze()


@contextlib.contextmanager
def exit_after(seconds: float, before: set[threading.Thread]) -> Iterator[None]:
    """Ends the process with status 1 if a block takes longer.

    Also if it leaves threads that Python would wait for at the end.

    Args:
        seconds: from now on.
        before: threads that aren't looked at.
    """
    timer = threading.Timer(seconds, os._exit, [1])
    timer.daemon = True
    timer.start()
    yield
    end = time.monotonic() + 1
    left = [t for t in set(threading.enumerate()) - before if not t.daemon]
    for thread in left:
        thread.join(max(0.0, end - time.monotonic()))
    if not any(thread.is_alive() for thread in left):
        timer.cancel()


def has_gpu() -> bool:
    """True if TensorFlow would use a GPU."""
    devices = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return False
    if not any(pathlib.Path(device).exists() for device in devices):
        return False  # Told without the seconds that importing takes.
    import tensorflow as tf

    return bool(tf.config.list_physical_devices("GPU"))


def multiplies_bfloat16() -> bool:
    """True if TensorFlow's device has instructions for bfloat16.

    Elsewhere its products are float32's with rounding on top: slower, not
    faster.
    """
    if has_gpu():
        import tensorflow as tf

        details = tf.config.experimental.get_device_details(
            tf.config.list_physical_devices("GPU")[0]
        )
        # NVIDIA's since Ampere.
        return details.get("compute_capability", (0, 0)) >= (8, 0)
    return _processor_has(_BFLOAT16_FLAGS)


def multiplies_int8() -> bool:
    """True if the processor adds products of 8-bit integers to 32-bit sums.

    Without such instructions, of x86-64 processors, sums are of 16 bits and
    are cut off where they get too large.
    """
    return _processor_has(_INT8_FLAGS)


def has_avx2() -> bool:
    """True if it is an x86-64 processor with AVX2: Intel since 2013."""
    return _processor_has({"avx2"})


def _processor_has(flags):
    """True if the processor has one of these, by Linux's names."""
    try:
        lines = _CPUINFO.read_text().splitlines()
    except OSError:
        return False
    return any(
        line.startswith(("flags", "Features"))
        and not flags.isdisjoint(line.split())
        for line in lines
    )
