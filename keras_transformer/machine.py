"""What the machine has."""

import ctypes
import os
import pathlib
import sys

_M_ARENA_MAX = -8  # of glibc's malloc.h


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0))


def share_memory_pool():
    """Has threads share what they free, where the C library is glibc.

    By default each thread keeps a pool of its own, and what one part of a
    batch has freed the other can't use: a tenth of a training's memory. To be
    called before the threads are started.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_M_ARENA_MAX, 1)


def has_gpu() -> bool:
    """Whether TensorFlow would use a GPU."""
    devices = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return False
    if not any(pathlib.Path(device).exists() for device in devices):
        return False  # Told without the seconds that importing takes.
    import tensorflow as tf

    return bool(tf.config.list_physical_devices("GPU"))
