"""JAX in this process: what it computes on, and where it keeps programs.

Nothing here needs Keras. JAX is imported by the functions that need it, for
where it isn't installed.
"""

import importlib.util
import os
import pathlib
import platform
import stat
from importlib import metadata

from keras_transformer.system.checksums import digest

# Seconds of compiling from which a program is worth a file.
_WORTH_KEEPING = 0.5


def is_installed() -> bool:
    """True if JAX can be imported; doesn't import it."""
    return importlib.util.find_spec("jax") is not None


def leave_devices_to_jax() -> None:
    """Has TensorFlow compute on the processor alone.

    It takes a GPU's whole memory otherwise. To be called before its first
    operation.
    """
    import tensorflow as tf

    for kind in ("GPU", "TPU"):
        tf.config.set_visible_devices([], kind)


def multiplies_bfloat16() -> bool:
    """True if JAX's device is faster in bfloat16.

    XLA multiplies it in float32 on processors, with conversions on top.
    """
    import jax

    device = jax.devices()[0]
    if device.platform == "cpu":
        return False
    capability = getattr(device, "compute_capability", None)
    try:
        # NVIDIA's since Ampere.
        return float(capability) >= 8.0  # type: ignore[arg-type]  # May be None.
    except (TypeError, ValueError):
        return True  # TPUs and AMD's GPUs, whose names aren't numbers


def keep_programs() -> None:
    """Has JAX keep what it compiles on disk, for later processes.

    A folder that was chosen already is left; see `private_cache_folder`
    for the default.
    """
    import jax

    # Of the environment, or of who calls.
    if jax.config.jax_compilation_cache_dir:  # type: ignore[attr-defined]
        return
    folder = private_cache_folder("jaxlib")
    if folder is not None:
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update(
            "jax_persistent_cache_min_compile_time_secs", _WORTH_KEEPING
        )


def private_cache_folder(distribution: str) -> pathlib.Path | None:
    """Folder for the programs that XLA compiles on this machine.

    Write access to it is enough to have this user run code, so it belongs to
    the user alone. Programs fit one version and one kind of machine and aren't
    checked: the folder's name has a digest of both.

    Args:
        distribution: the package whose version counts.

    Returns:
        `pathlib.Path`; None if none can be made, or if others may write to
        the one that is there.
    """
    named = os.environ.get("XDG_CACHE_HOME")
    try:
        base = pathlib.Path(named) if named else pathlib.Path.home() / ".cache"
    except RuntimeError:  # The user has none.
        return None
    facts = [platform.machine(), metadata.version(distribution), _processor()]
    machine = digest("\n".join(facts).encode())[:16]
    path = base / "keras_transformer" / f"jax-{machine}"
    try:
        path.parent.parent.mkdir(parents=True, exist_ok=True)
        for folder in (path.parent, path):
            folder.mkdir(exist_ok=True, mode=0o700)
        both = _is_private(path.parent) and _is_private(path)
        return path if both else None
    except OSError:
        return None


def _is_private(path):
    """True if only the user may write to a folder."""
    status = path.stat()
    writable = stat.S_IWGRP | stat.S_IWOTH
    return status.st_uid == os.getuid() and not status.st_mode & writable


def _processor():
    """Model and instructions of the processor, from Linux."""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    names = ("model name", "flags", "Features")
    lines = [line for line in text.splitlines() if line.startswith(names)]
    return "\n".join(sorted(set(lines)))
