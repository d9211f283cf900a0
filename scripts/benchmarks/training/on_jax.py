"""One measurement of training on JAX, in a process of its own.

Shapes of batches are compiled in a first pass over the same batches; then the
clock runs, over `fit` as `train` calls it: batches are read, put on the device
and trained on, and no step's numbers are read.
"""

import contextlib
import os
import resource
import time

import numpy as np

from scripts.benchmarks.training.measure import flops

_MATRIX = 4096  # rows and columns of the product that a device is rated by
# FLOP a second in bfloat16, without sparsity, as the makers' data sheets say.
PEAKS = {
    "NVIDIA A100": 312e12,
    "NVIDIA H100 PCIe": 756e12,
    "NVIDIA H100": 989e12,
    "NVIDIA H200": 989e12,
    "NVIDIA L4": 121e12,
    "TPU v4": 275e12,
    "TPU v5 lite": 197e12,
    "TPU v5p": 459e12,
    "TPU v6 lite": 918e12,
}
_COMPILED = "/jax/core/compile/backend_compile_duration"
_PHASES = (
    "/jax/core/compile/jaxpr_trace_duration",
    "/jax/core/compile/jaxpr_to_mlir_module_duration",
    _COMPILED,
)
_LOADED = "/jax/compilation_cache/cache_hits"
# Names that Keras' functions of a step have.
_STEPS = ("train_step", "test_step", "jit(train_step)", "jit(test_step)")


def measure(precision, run_folder, data_folder, steps, batches_path) -> dict:
    """Trains over so many steps, after a pass that compiles their shapes.

    Args:
        precision: "float32", "mixed_bfloat16" or "mixed_float16".
        run_folder: of the run.
        data_folder: of its prepared data.
        steps: how many.
        batches_path: an `.npz` file that the batches are written to, for a
            peer.

    Returns:
        rates, arithmetic and memory; see `scripts/benchmarks/training`.
    """
    start()
    import jax

    from keras_transformer.training.step_logs import UnreadLogs

    compilations = Compilations()
    model, dataset = _prepared(precision, run_folder, data_folder, steps)
    clock = _clock()
    model.fit(
        dataset,
        epochs=2,
        shuffle=False,
        verbose=0,
        callbacks=UnreadLogs([clock], add_history=True, model=model, epochs=2),
    )
    programs, loaded, compile_seconds = compilations.taken()
    seconds, processor_seconds = clock.seconds[1]
    device = jax.local_devices()[0]
    memory = device_memory(device)
    features = [features for features, _ in dataset.as_numpy_iterator()]
    np.savez(batches_path, **dict(_arrays(features)))
    source_tokens, target_tokens, arithmetic, padding = _counts(model, features)
    return {
        "device": device.device_kind,
        "tokens_per_second": (source_tokens + target_tokens) / seconds,
        "source_tokens_per_second": source_tokens / seconds,
        "target_tokens_per_second": target_tokens / seconds,
        "tokens_per_processor_second": (
            (source_tokens + target_tokens) / processor_seconds
        ),
        "steps_per_second": steps / seconds,
        "padding": padding,
        "programs": programs,
        "from_disk": loaded,
        "compile_seconds": compile_seconds,
        "tflops": arithmetic / seconds / 1e12,
        "peak_tflops": peak(device.device_kind),
        "device_memory_mib": memory,
    }


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


def matrix_rate() -> dict:
    """The device's own large product, FLOP a second by precision."""
    start()
    import jax
    import jax.numpy as jnp

    rates = {}
    for name in ("float32", "bfloat16"):
        a = jax.random.normal(jax.random.key(1), (_MATRIX, _MATRIX), name)
        product = jax.jit(jnp.matmul)
        product(a, a).block_until_ready()
        best = float("inf")
        for _ in range(5):
            started = time.perf_counter()
            product(a, a).block_until_ready()
            best = min(best, time.perf_counter() - started)
        rates[name] = 2 * _MATRIX**3 / best
    return rates


def start():
    """Makes JAX Keras' backend, as `train` does."""
    from keras_transformer.cli.console import load_jax

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    load_jax()


def _prepared(precision, run_folder, data_folder, steps):
    """The model, compiled, and the first batches of an epoch."""
    from keras_transformer.data.prepared import PreparedData
    from keras_transformer.training.compiling import compile_model
    from keras_transformer.training.fit import training_batches
    from keras_transformer.training.run import Run

    run = Run.load(run_folder)
    values = {"precision": precision, "length_buckets": "few"}
    run.config = run.config.updated({"training": values})
    model = run.build_model(micro_batches=1)
    compile_model(model, run.config.training, run.config.model.d_model)
    batches = training_batches(run, PreparedData.load(data_folder))
    return model, batches.dataset.repeat().take(steps)


def _clock():
    """A callback: each epoch's seconds, and those of all processors."""
    import keras

    class Clock(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            self.seconds = []

        def on_epoch_begin(self, epoch, logs=None):
            self._started = time.perf_counter(), time.process_time()

        def on_epoch_end(self, epoch, logs=None):
            # Keras has read the epoch's metrics, for which all steps had to
            # end.
            ended = time.perf_counter(), time.process_time()
            self.seconds.append(np.subtract(ended, self._started).tolist())

    return Clock()


def device_memory(device) -> float:
    """MiB at most on the device; on a processor of the process."""
    stats = None
    with contextlib.suppress(Exception):  # Not every device has them.
        stats = device.memory_stats()
    if stats and "peak_bytes_in_use" in stats:
        return stats["peak_bytes_in_use"] / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _arrays(features):
    """Names and ids of batches, as a peer reads them."""
    for number, batch in enumerate(features):
        for name, ids in batch.items():
            yield f"{name}/{number:05d}", ids


def _counts(model, features):
    """Source and target tokens, operations, and the share of padding.

    Tokens are counted as OpenNMT-tf counts them: the source's without START
    and END, the target's with END; padding never.
    """
    sources = targets = arithmetic = positions = real = 0
    for batch in features:
        source, target = (
            np.count_nonzero(batch[name], axis=1)
            for name in ("source_ids", "target_ids")
        )
        pairs = np.count_nonzero(target)
        sources += int(source.sum()) - 2 * pairs
        targets += int(target.sum())
        arithmetic += flops(model, source, target)
        real += int(source.sum() + target.sum())
        positions += sum(ids.size for ids in batch.values())
    return sources, targets, arithmetic, 1 - real / positions


def peak(kind) -> float | None:
    """TFLOP a second in bfloat16 of a device, None if it isn't known."""
    for name, rate in PEAKS.items():
        if kind.startswith(name):
            return rate / 1e12
    return None
