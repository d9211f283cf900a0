"""What the machine has."""

import os
import pathlib


def usable_cores() -> int:
    """Cores that this process may run on."""
    return len(os.sched_getaffinity(0))


def has_gpu() -> bool:
    """Whether TensorFlow would use a GPU."""
    devices = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return False
    if not any(pathlib.Path(device).exists() for device in devices):
        return False  # Told without the seconds that importing takes.
    import tensorflow as tf

    return bool(tf.config.list_physical_devices("GPU"))
