"""The report of `scripts/benchmarks/training --backend jax`."""

import dataclasses
import json
import statistics
import subprocess

from scripts.benchmarks import command
from scripts.benchmarks.corpus import prepare_data
from scripts.benchmarks.training import on_jax
from scripts.benchmarks.training.measure import in_process

# The recipes of the paper are for corpora of the same kind of tokens.
_SUBWORDS = {"base"}
# Of `--quick`, by preset: a step of theirs takes a processor a minute.
QUICK = {
    "notebook": {"steps": 16},
    "base": {"steps": 4, "batch_tokens": 1024},
}


def measure_all(options, scratch) -> dict:
    """Measures every precision in all rounds, in turn with PyTorch if asked.

    Args:
        options: of the command line.
        scratch: a folder.
    """
    options.peer = options.peer and has_torch(options.torch_python)
    run, data = make_run(options, scratch)
    measured = {precision: [] for precision in options.precision}
    rates, peers = [], {precision: [] for precision in options.precision}
    for number in range(options.rounds):
        rates.append(in_process(on_jax.matrix_rate))
        for precision in options.precision:
            command.say(f"round {number + 1}: {precision} on JAX")
            batches = scratch / "batches.npz"
            arguments = precision, run.folder, data.path, options.steps, batches
            measured[precision].append(in_process(on_jax.measure, *arguments))
            if options.peer:
                command.say(f"round {number + 1}: {precision} on PyTorch")
                model = scratch / "model.json"
                model.write_text(json.dumps(sizes_of(run, precision)))
                peers[precision].append(
                    command.run_peer(
                        options.peers,
                        *("--python", options.torch_python, "torch"),
                        *("--batches", batches, "--model", model),
                    )
                )
    rate = {n: statistics.median(r[n] for r in rates) for n in _NAMES.values()}
    report = {
        "environment": command.environment(),
        "preset": options.preset,
        "rounds": options.rounds,
        "matrix_tflops": {name: rate[name] / 1e12 for name in rate},
        "settings": [
            _row(precision, rounds, rate[_NAMES.get(precision, "bfloat16")])
            for precision, rounds in measured.items()
        ],
    }
    if options.peer:
        report["peers"] = peers
        report["ratios"] = _ratios(report)
    return report


def has_torch(python) -> bool:
    """Whether a Python has PyTorch, told if it hasn't."""
    command_line = [python, "-c", "import torch"]
    try:
        done = subprocess.run(command_line, capture_output=True, check=False)
    except OSError as error:
        command.say(f"PyTorch is left out: {python}: {error.strerror}")
        return False
    if done.returncode:
        command.say(
            f"PyTorch is left out: {python} has no torch. Accepted: "
            "--torch-python with one that has"
        )
    return not done.returncode


_NAMES = {"float32": "float32", "mixed_bfloat16": "bfloat16"}


def make_run(options, scratch):
    """A run of a preset's shape that was never trained, and its data."""
    from keras_transformer.config.presets import preset
    from keras_transformer.training.run import Run

    config = preset(options.preset)
    if options.preset in _SUBWORDS:
        kinds = dict.fromkeys(
            ("source_tokenizer", "target_tokenizer"), "sentencepiece"
        )
        config = config.updated({"data": kinds})
    if options.batch_tokens:
        size = {"batch_tokens": options.batch_tokens, "batch_sentences": None}
        config = config.updated({"training": size})
    data = prepare_data(scratch, config.data, options.data)
    return Run.create(scratch / "run", config, data), data


def sizes_of(run, precision) -> dict:
    """What the peer has to know of the model."""
    return {
        **dataclasses.asdict(run.config.model),
        "source_vocabulary_size": run.source_tokenizer.vocabulary_size,
        "target_vocabulary_size": run.target_tokenizer.vocabulary_size,
        "label_smoothing": run.config.training.label_smoothing,
        "precision": precision,
    }


def _row(precision, measured, matrix_rate):
    """The median of all rounds, and shares of what the device can do."""
    row = {"precision": precision, "device": measured[0]["device"]}
    for name, value in measured[0].items():
        if isinstance(value, int | float):
            row[name] = statistics.median(one[name] for one in measured)
    rates = [one["tokens_per_second"] for one in measured]
    row["slowest"], row["fastest"] = min(rates), max(rates)
    row["share_of_matrix_rate"] = 1e12 * row["tflops"] / matrix_rate
    if "peak_tflops" in row:
        row["share_of_bfloat16_peak"] = row["tflops"] / row["peak_tflops"]
    return row


def _ratios(report):
    """To PyTorch, of each precision."""
    ratios = {}
    for row in report["settings"]:
        peer = statistics.median(
            one["tokens_per_second"]
            for one in report["peers"][row["precision"]]
        )
        name = f"{row['precision']}_vs_pytorch"
        ratios[name] = round(row["tokens_per_second"] / peer, 3)
    return ratios


def line(row) -> str:
    """A row for the person."""
    peak = row.get("share_of_bfloat16_peak")
    return (
        f"{row['precision']:<14} {row['tokens_per_second']:.0f} tokens/s "
        f"({row['slowest']:.0f} to {row['fastest']:.0f}), source "
        f"{row['source_tokens_per_second']:.0f}, target "
        f"{row['target_tokens_per_second']:.0f}; {row['tflops']:.3g} TFLOP/s, "
        f"{row['share_of_matrix_rate']:.1%} of the matrix rate"
        + (f", {peak:.1%} of the bfloat16 peak" if peak else "")
        + f"; {row['padding']:.1%} padding, {row['programs']:.0f} programs "
        f"compiled in {row['compile_seconds']:.0f} s; "
        f"{row['device_memory_mib']:.0f} MiB"
    )
