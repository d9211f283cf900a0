"""JAX in this process: what it computes on, and what it has compiled.

Nothing here needs Keras. JAX is imported by the functions that need it, for
where it isn't installed.
"""

import importlib.util
import os

from keras_transformer.system.disk_caches import private_cache_folder

_CACHE_VARIABLE = "JAX_COMPILATION_CACHE_DIR"
# Seconds of compiling from which a program is worth a file.
_WORTH_KEEPING = 0.5
_COMPILED = "/jax/core/compile/backend_compile_duration"
_PHASES = (
    "/jax/core/compile/jaxpr_trace_duration",
    "/jax/core/compile/jaxpr_to_mlir_module_duration",
    _COMPILED,
)
_LOADED = "/jax/compilation_cache/cache_hits"
# Names that Keras' functions of a step have.
_STEPS = ("train_step", "test_step", "jit(train_step)", "jit(test_step)")


def is_installed() -> bool:
    """Whether JAX can be imported, told without importing it."""
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
    """Whether what JAX computes on is faster in bfloat16.

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

    A folder that the environment names is left; see
    `disk_caches.private_cache_folder` for the default.
    """
    import jax

    if os.environ.get(_CACHE_VARIABLE):
        return
    folder = private_cache_folder("jax", "jaxlib")
    if folder is not None:
        jax.config.update("jax_compilation_cache_dir", str(folder))
        jax.config.update(
            "jax_persistent_cache_min_compile_time_secs", _WORTH_KEEPING
        )


class Compilations:
    """Counts the programs of steps that JAX compiles from now on.

    There are those of training and those of the dev set, one for each shape
    of a batch. The small ones of building a model aren't counted.
    """

    def __init__(self) -> None:
        import jax

        self._forget()
        jax.monitoring.register_event_duration_secs_listener(self._duration)
        jax.monitoring.register_event_listener(self._event)

    def taken(self) -> tuple[int, int, float]:
        """Since the last call: programs, how many from disk, and seconds.

        The seconds are those of tracing, lowering, and compiling or loading.
        """
        counts = self._programs, self._loaded, self._seconds
        self._forget()
        return counts

    def _forget(self):
        self._programs = self._loaded = 0
        self._seconds = 0.0
        self._hit = False

    def _duration(self, event, duration_secs, **details):
        is_step = details.get("fun_name", "") in _STEPS
        if event in _PHASES and is_step:
            self._seconds += duration_secs
        if event == _COMPILED:
            self._programs += is_step
            self._loaded += is_step and self._hit
            self._hit = False

    def _event(self, event, **_):
        # Told before the end of the phase that it was loaded in, with no name.
        self._hit = self._hit or event == _LOADED
