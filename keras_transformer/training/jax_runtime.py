"""JAX in this process: its devices, and its cache of compiled programs.

Nothing here needs Keras. JAX is imported by the functions that need it, as it
may not be installed.
"""

import importlib.util
import os
import pathlib
import platform
import stat
from importlib import metadata

from keras_transformer.system.checksums import digest

# Programs that take at least this many seconds to compile are cached.
_WORTH_KEEPING = 0.5


def is_installed() -> bool:
    """True if JAX can be imported; doesn't import it."""
    return importlib.util.find_spec("jax") is not None


def leave_devices_to_jax() -> None:
    """Makes TensorFlow compute on the processor only.

    Otherwise it takes a GPU's whole memory. To be called before TensorFlow's
    first operation.
    """
    import tensorflow as tf

    for kind in ("GPU", "TPU"):
        tf.config.set_visible_devices([], kind)


def multiplies_bfloat16() -> bool:
    """True if JAX's device is faster in bfloat16.

    On processors XLA multiplies bfloat16 as float32, with conversions on top.
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
        return True  # TPUs and AMD's GPUs, whose capabilities aren't numbers


def keep_programs() -> None:
    """Makes JAX cache compiled programs on disk, for later processes.

    A cache folder that is already configured stays; see `private_cache_folder`
    for the default.
    """
    import jax

    # Set by the environment or the caller.
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

    Write access to the folder is enough to run code as this user, so it belongs
    to the user alone. Programs fit one version and one kind of machine only,
    which isn't checked: the folder's name has a digest of both.

    Args:
        distribution: the package whose version counts.

    Returns:
        `pathlib.Path`; None if the folder can't be made, or exists and others
        may write to it.
    """
    named = os.environ.get("XDG_CACHE_HOME")
    try:
        base = pathlib.Path(named) if named else pathlib.Path.home() / ".cache"
    except RuntimeError:  # The user has no home.
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
