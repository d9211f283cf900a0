"""The machine: cores, threads, memory and fast data types."""

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

# From glibc's malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_CPUINFO = pathlib.Path("/proc/cpuinfo")
_BFLOAT16_FLAGS = {"avx512_bf16", "amx_bf16", "bf16"}  # x86, x86, Arm
_INT8_FLAGS = {"avx512_vnni", "avx_vnni"}  # x86
# With one of these TensorFlow uses oneDNN by default: `DefaultOneDnnPolicy` in
# tensorflow/core/util/port.cc.
_ONEDNN_FLAGS = _INT8_FLAGS | {
    "avx512_bf16",
    "amx_tile",
    "amx_int8",
    "amx_bf16",
}
_CPU_SHARE = pathlib.Path("/sys/fs/cgroup/cpu.max")
USES_ONEDNN = "TF_ENABLE_ONEDNN_OPTS"
# From this batch size on, oneDNN is faster on processors without these flags.
_ONEDNN_SENTENCES = 32


def usable_cores() -> int:
    """The number of cores that this process may run on."""
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        cores = len(os.sched_getaffinity(0))
    # A container's quota, such as of docker run --cpus; "max": no limit.
    with contextlib.suppress(OSError, ValueError):
        quota, period = map(int, _CPU_SHARE.read_text().split())
        cores = min(cores, max(1, quota // period))
    return cores


def spare_memory() -> None:
    """Makes glibc's malloc keep less unused memory; does nothing elsewhere.

    By default each thread has its own arena, and memory that one micro-batch
    has freed isn't available to another. Also, tensors of up to 32 MiB are
    allocated in an arena, whose gaps don't fit a longer batch; where TensorFlow
    leaves tensors to the C library (without oneDNN), that is a tenth of a
    training's memory. To be called before threads are started.
    """
    mallopt = _of_glibc("mallopt")
    if mallopt is not None:
        mallopt(_M_ARENA_MAX, 1)
        # Larger blocks get their own pages, which are given back when freed.
        mallopt(_M_MMAP_THRESHOLD, 2 << 20)
        # Giving the arena back after each step, only to request it again,
        # would cost time.
        mallopt(_M_TRIM_THRESHOLD, 256 << 20)


def use_threads(micro_batches: int) -> None:
    """Gives each of several parallel micro-batches a thread.

    If there are more cores, their operations use several threads each. All
    threads share one memory arena. To be called before TensorFlow's first
    operation.

    Args:
        micro_batches: see `TrainingConfig.threads`; 1: TensorFlow's defaults.
    """
    spare_memory()
    if micro_batches > 1:
        set_threads(max(1, usable_cores() // micro_batches), micro_batches)


def set_threads(threads: int, operations: int = 1) -> None:
    """Sets TensorFlow's numbers of threads, unless it has already started.

    Args:
        threads: threads of an operation.
        operations: operations that run in parallel.
    """
    import tensorflow as tf

    # The settings can't be changed once TensorFlow is initialized.
    with contextlib.suppress(RuntimeError):
        tf.config.threading.set_inter_op_parallelism_threads(operations)
        tf.config.threading.set_intra_op_parallelism_threads(threads)


def choose_onednn(sentences: int) -> None:
    """Enables oneDNN for large batches where TensorFlow wouldn't.

    By default TensorFlow doesn't use oneDNN on x86-64 processors without
    instructions for neural networks. There it makes batches faster, and single
    sentences slower. To be called before TensorFlow is imported; a setting in
    the environment takes precedence.

    Args:
        sentences: the number of sentences that are translated together.
    """
    if sentences < _ONEDNN_SENTENCES or _processor_has(_ONEDNN_FLAGS):
        return
    if has_avx2():
        os.environ.setdefault(USES_ONEDNN, "1")


def give_back_memory() -> None:
    """Returns glibc's free memory to the system; does nothing elsewhere.

    Building a large graph leaves a hundred MiB.
    """
    malloc_trim = _of_glibc("malloc_trim")
    if malloc_trim is not None:
        malloc_trim(0)


def _of_glibc(name):
    """A function of the C library on Linux; None if it doesn't exist."""
    if sys.platform != "linux":
        return None
    return getattr(ctypes.CDLL(None), name, None)


def allow_many_connections() -> None:
    """Raises the process's limit of open files and connections to the maximum.

    The default is often 1024, which idle clients of a server use up.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def files_left() -> int:
    """The number of files and connections the process may still open."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    opened = 64  # assumed on systems without /proc
    with contextlib.suppress(OSError):
        opened = len(os.listdir("/proc/self/fd"))
    return max(0, limit - opened)


def spare_collections() -> None:
    """Exempts all existing objects from Python's garbage collection.

    A collection of TensorFlow's objects takes tenths of a second, in which no
    other thread runs. They live as long as the process anyway.
    """
    gc.collect()
    gc.freeze()


@contextlib.contextmanager
def exit_after(seconds: float, before: set[threading.Thread]) -> Iterator[None]:
    """Ends the process with status 1 if the block takes too long.

    Also if the block leaves threads running that would keep Python from
    exiting.

    Args:
        seconds: the time limit.
        before: threads that are ignored.
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
        return False  # Avoids the import, which takes seconds.
    import tensorflow as tf

    return bool(tf.config.list_physical_devices("GPU"))


def multiplies_bfloat16() -> bool:
    """True if TensorFlow's device has instructions for bfloat16.

    Without them, bfloat16 products are computed in float32 and rounded, which
    is slower than float32.
    """
    if has_gpu():
        import tensorflow as tf

        details = tf.config.experimental.get_device_details(
            tf.config.list_physical_devices("GPU")[0]
        )
        # NVIDIA GPUs since Ampere.
        return details.get("compute_capability", (0, 0)) >= (8, 0)
    return _processor_has(_BFLOAT16_FLAGS)


def multiplies_int8() -> bool:
    """True if the processor sums products of 8-bit integers in 32 bits.

    Without these instructions of x86-64 processors (VNNI), intermediate sums
    have 16 bits and saturate.
    """
    return _processor_has(_INT8_FLAGS)


def has_avx2() -> bool:
    """True for an x86-64 processor with AVX2: Intel since 2013."""
    return _processor_has({"avx2"})


def _processor_has(flags):
    """True if the processor has one of these flags, as Linux names them."""
    try:
        lines = _CPUINFO.read_text().splitlines()
    except OSError:
        return False
    return any(
        line.startswith(("flags", "Features"))
        and not flags.isdisjoint(line.split())
        for line in lines
    )
