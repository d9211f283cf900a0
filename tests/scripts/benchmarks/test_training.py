"""Measuring training, at a size that measures nothing."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from keras_transformer.config import ModelConfig
from keras_transformer.models import build_transformer
from keras_transformer.training import jax_runtime
from scripts.benchmarks.training.measure import flops
from tests.toy_models import write_corpus

SCRIPTS = pathlib.Path(__file__).resolve().parents[3] / "scripts"
PEERS = """
import json, pathlib, sys
data = str(pathlib.Path(__file__).parent)
assert sys.argv[1:] == ["train", "--data", data, "--steps", "3"]
print(json.dumps({"peer": "x", "tokens_per_s_median": 100.0}))
"""


def script(*arguments):
    return subprocess.run(
        [
            sys.executable,
            str(SCRIPTS / "benchmarks/training"),
            *map(str, arguments),
        ],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def test_operations_are_counted():
    config = ModelConfig(
        num_encoder_layers=1,
        num_decoder_layers=2,
        d_model=4,
        num_heads=2,
        d_ff=8,
        max_length=8,
    )
    model = build_transformer(config, 9, 10)
    source, target = np.array([3]), np.array([2])
    # Products of the weights: each of so many rows by rows x columns.
    encoder = 3 * (4 * 4 * 4 + 2 * 4 * 8)
    memory = 2 * 3 * (2 * 4 * 4)
    decoder = 2 * 2 * (6 * 4 * 4 + 2 * 4 * 8) + 2 * 4 * 10
    # Scores and contexts: each query's with each key, twice the width.
    attention = 3 * 3 * 2 * 4 + 2 * (2 * 2 + 2 * 3) * 2 * 4
    products = encoder + memory + decoder + attention
    # Forward and twice as much backward; multiplication and addition.
    assert flops(model, source, target) == 3 * 2 * products


@pytest.mark.slow
def test_ratios_are_those_of_what_was_measured(tmp_path):
    write_corpus(tmp_path)
    peers = tmp_path / "peers.py"
    peers.write_text(PEERS)
    done = script(
        *("--peer", "--peers", peers, "--peer-steps", 3, "--json"),
        *("--data", tmp_path, "--warm-up", 1, "--steps", 2, "--rounds", 1),
        *("--precision", "float32", "--threads", 2, "--batch-sentences", 8),
        "--dev-loss",
    )
    assert done.returncode == 0, done.stderr
    report, last = map(json.loads, done.stdout.splitlines())
    (row,) = report["settings"]
    ratios = last["ratios"]
    expected = row["tokens_per_second"] / 100
    assert ratios["float32_vs_opennmt_tf"] == pytest.approx(expected, abs=1e-3)
    assert ratios["fastest_vs_opennmt_tf"] == ratios["float32_vs_opennmt_tf"]
    assert 0 < ratios["float32_share_of_matmul_rate"] < 1
    assert row["tokens_per_processor_second"] > 0
    assert row["step_ms"]["all"] > 0
    assert row["peak_memory_mib"] > 50
    assert 0 < row["input_share"] < 1
    assert row["epoch"]["dev_loss"] > 0


@pytest.mark.slow
def test_jax_is_measured_with_its_device(tmp_path):
    if not jax_runtime.is_installed():
        pytest.skip("jax isn't installed: pip install '.[jax]'")
    write_corpus(tmp_path)
    done = script(
        *("--backend", "jax", "--json"),
        *("--data", tmp_path, "--steps", 2, "--rounds", 1),
        *("--precision", "float32"),
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[0])
    (row,) = report["settings"]
    assert row["device"] == "cpu"
    assert row["compile_seconds"] > 0
    assert 0 < row["padding"] < 1
    both = row["source_tokens_per_second"] + row["target_tokens_per_second"]
    assert both == pytest.approx(row["tokens_per_second"])
