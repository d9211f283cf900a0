"""What XLA compiled, kept on disk between runs.

TensorFlow 2.21 does this for processors and GPUs if it is told a folder by
an environment variable, before it first compiles. Its programs fit one kind
of machine and aren't checked, so the folder's name has a digest of what they
depend on. A damaged file fails the function that needs it: see `clear`.
"""

import hashlib
import os
import pathlib
import platform
from importlib import metadata

_VARIABLE = "TF_XLA_FLAGS"
_OPTION = "--tf_xla_persistent_cache_directory="


def enable() -> pathlib.Path | None:
    """Has what is compiled kept, and used again by later processes.

    To be called before TensorFlow's first operation. A folder that the
    variable already names is left.

    Returns:
        the folder; None if none can be made.
    """
    if folder() is None:
        path = _default_folder()
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError:
            return None
        flags = [os.environ.get(_VARIABLE, ""), f"{_OPTION}{path}"]
        os.environ[_VARIABLE] = " ".join(filter(None, flags))
    return folder()


def folder() -> pathlib.Path | None:
    """Where it is kept; None: nowhere."""
    for flag in os.environ.get(_VARIABLE, "").split():
        if flag.startswith(_OPTION):
            return pathlib.Path(flag.removeprefix(_OPTION))
    return None


def clear() -> bool:
    """Removes what was kept; whether there was anything."""
    path = folder()
    files = list(path.glob("xla_compile_cache_*")) if path else []
    for file in files:
        file.unlink(missing_ok=True)
    return bool(files)


def _default_folder():
    base = os.environ.get("XDG_CACHE_HOME")
    base = pathlib.Path(base) if base else pathlib.Path.home() / ".cache"
    facts = [platform.machine(), metadata.version("tensorflow"), _processor()]
    digest = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]
    return base / "keras_transformer" / f"xla-{digest}"


def _processor():
    """What the processor can do, as Linux tells it."""
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    wanted = ("model name", "flags", "Features")
    lines = [line for line in text.splitlines() if line.startswith(wanted)]
    return "\n".join(sorted(set(lines)))
