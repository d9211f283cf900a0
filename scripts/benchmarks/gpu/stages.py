"""Stages of `scripts/benchmarks/gpu`, each in a process of its own.

`base` and `small` use the device themselves; the others start a process for
each measurement, as JAX keeps most of a GPU's memory until its process ends.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

from scripts.benchmarks import command
from scripts.benchmarks.training import jax_report, on_jax
from scripts.benchmarks.training.measure import flops, in_process

_BFLOAT16 = "mixed_bfloat16"
# Vaswani et al. 2017, table 3, row "big": what differs from "base".
_BIG = {"d_model": 1024, "num_heads": 16, "d_ff": 4096, "dropout": 0.3}
_BIG_STEPS = 20
_COMPILED_STEPS = 12  # enough to meet most shapes
_WITHOUT_CACHE = {"JAX_ENABLE_COMPILATION_CACHE": "false"}
_QUICK_COMPILER = {"XLA_FLAGS": "--xla_gpu_autotune_level=0"}
_TRAINING = 0.7  # of the time of a stage that trains; the rest evaluates
_TINY = {
    "model": {
        "num_encoder_layers": 1,
        "num_decoder_layers": 1,
        "d_model": 32,
        "num_heads": 2,
        "d_ff": 64,
        "dropout": 0.1,
    },
    "training": {"epochs": 2, "batch_tokens": 512, "batch_sentences": None},
}
_TINY_STEPS = 2
_TINY_PAIRS = 400


def rehearsal_data(folder: pathlib.Path):
    """Prepares a part of the built-in corpus."""
    from keras_transformer import prepare
    from keras_transformer.data.demo import load_demo_corpus

    pairs = load_demo_corpus().train[:_TINY_PAIRS]
    corpus = folder.with_suffix(".tsv")
    corpus.write_text("".join(f"{a}\t{b}\n" for a, b in pairs), "utf-8")
    prepare(
        corpus, folder, dev=0.05, source_language="en", target_language="zh"
    )


def base(options, results, until):
    """Trains the paper's model as long as there is time, and evaluates it."""
    # A GPU doesn't come to the end of so many; with so few minutes, nor does
    # the paper's warm-up.
    changes = {"training": {"epochs": 10_000, "precision": _BFLOAT16}}
    _train("base", "base", options.data, changes, options, results, until)


def small(options, results, until):
    """Trains a small model to its end, and evaluates it."""
    preset, data = options.small_preset, options.small_data
    changes = {"training": {"precision": _BFLOAT16}}
    _train("small", preset, data, changes, options, results, until)


def torch(options, results, until):
    """Measures this package and PyTorch on the same batches."""
    run, data = _random_run(options, {})
    batches, model = (
        options.out / name for name in ("batches.npz", "model.json")
    )
    steps = _TINY_STEPS if options.quick else options.steps
    ours = _measure(run, data, steps, batches)
    results.add("torch", **ours)
    if not jax_report.has_torch(options.torch_python):
        results.add("torch", left_out=f"{options.torch_python} has no torch")
        return
    model.write_text(json.dumps(jax_report.sizes_of(run, _BFLOAT16)))
    peer = command.run_peer(
        pathlib.Path(__file__).parents[1] / "peers",
        *("--python", options.torch_python, "torch"),
        *("--batches", batches, "--model", model),
    )
    ratio = ours["tokens_per_second"] / peer["tokens_per_second"]
    results.add("torch", **peer, ratio=ratio)


def big(options, results, until):
    """Measures steps of the paper's big model."""
    run, data = _random_run(options, {"model": _BIG})
    steps = _TINY_STEPS if options.quick else _BIG_STEPS
    batches = options.out / "batches.npz"
    results.add("big", **_measure(run, data, steps, batches))


def compiling(options, results, until):
    """Measures what compiling the shapes of base takes."""
    run, data = _random_run(options, {})
    steps = _TINY_STEPS if options.quick else _COMPILED_STEPS
    batches = options.out / "batches.npz"
    for name, variables in (
        ("compiled", _WITHOUT_CACHE),
        ("compiled, autotune level 0", _WITHOUT_CACHE | _QUICK_COMPILER),
        ("from disk, if base was trained", {}),
    ):
        before = dict(os.environ)
        os.environ.update(variables)
        try:
            measured = _measure(run, data, steps, batches)
        finally:
            os.environ.clear()
            os.environ.update(before)
        results.add("compiling", how=name, **measured)


def _train(stage, preset, data, changes, options, results, until):
    """Trains until a part of the time is over, then evaluates."""
    on_jax.start()
    from keras_transformer import PreparedData, train
    from keras_transformer.config import presets

    prepared = PreparedData.load(data)
    config = presets.preset(preset)
    own = presets.settings_of(options.config) if stage == "base" else []
    for values, where in [(changes, stage), *own, *_tiny(options)]:
        config = config.updated(values, where)
    out = options.out / stage
    seconds = _TRAINING * (until - time.time())
    train(
        prepared,
        out,
        config=config,
        resume=out.exists(),
        callbacks=[_epochs(stage, prepared, results, seconds)],
        verbose=0,
    )
    pairs = options.out / f"{stage}.dev.tsv"
    rows = ["\t".join(pair) + "\n" for pair in prepared.dev_pairs()]
    pairs.write_text("".join(rows), encoding="utf-8")
    words = ["evaluate", "--run", out, "--json", "--input", pairs]
    done = subprocess.run(
        [sys.executable, "-m", "keras_transformer", *map(str, words)],
        env={**os.environ, "KERAS_BACKEND": "tensorflow"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    scores = json.loads(done.stdout.strip().splitlines()[-1])
    names = "bleu", "bleu_interval", "chrf", "cross_entropy", "seconds"
    results.add(stage, evaluated={name: scores[name] for name in names})


def _epochs(stage, prepared, results, seconds):
    """A callback that adds a result for each epoch, and ends in time."""
    import jax
    import keras

    from keras_transformer.data.model_inputs import FRAME_LENGTHS

    class Epochs(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            self._started = time.time()
            self._compilations = on_jax.Compilations()
            source, target = (prepared.lengths("train") + FRAME_LENGTHS).T
            arithmetic = flops(self.model, source, target)
            self._per_token = arithmetic / int(target.sum())

        def on_train_batch_end(self, batch, logs=None):
            if time.time() - self._started > seconds:
                self.model.stop_training = True

        def on_epoch_end(self, epoch, logs):
            device = jax.local_devices()[0]
            programs, loaded, compile_seconds = self._compilations.taken()
            tflops = self._per_token * logs["tokens_per_second"] / 1e12
            results.add(
                stage,
                epoch=epoch + 1,
                minutes=(time.time() - self._started) / 60,
                dev_loss=logs.get("val_cross_entropy"),
                target_tokens_per_second=logs["tokens_per_second"],
                tflops=tflops,
                programs=programs,
                from_disk=loaded,
                compile_seconds=compile_seconds,
                device=device.device_kind,
                device_memory_mib=on_jax.device_memory(device),
                **_share(tflops, on_jax.peak(device.device_kind)),
            )

    return Epochs()


def _random_run(options, changes):
    """A run of base, or what differs from it, never trained; and its data."""
    from keras_transformer import PreparedData
    from keras_transformer.config.presets import preset
    from keras_transformer.training.run import Run

    config = preset("base")
    for values, where in [(changes, "changes"), *_tiny(options)]:
        config = config.updated(values, where)
    folder = options.out / f"random-{time.time_ns()}"
    prepared = PreparedData.load(options.data)
    return Run.create(folder, config, prepared), prepared


def _measure(run, data, steps, batches):
    """A measurement on the device, with the share of its peak."""
    arguments = _BFLOAT16, run.folder, data.path, steps, batches
    measured = in_process(on_jax.measure, *arguments)
    peak = measured.pop("peak_tflops")
    return {**measured, **_share(measured["tflops"], peak)}


def _share(tflops, peak):
    """The share of a device's peak, "unknown" where that is."""
    return {"share_of_peak": tflops / peak if peak else "unknown"}


def _tiny(options):
    return [(_TINY, "rehearsal")] if options.quick else []
