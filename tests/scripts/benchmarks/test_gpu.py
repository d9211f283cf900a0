"""The run of minutes on a GPU, rehearsed: all its stages in tiny shapes."""

import pathlib
import subprocess
import sys

import pytest

from keras_transformer.training import jax_runtime
from scripts.benchmarks.gpu import __main__ as gpu
from scripts.benchmarks.gpu.results import Results


@pytest.mark.slow
def test_all_stages_are_rehearsed(tmp_path):
    if not jax_runtime.is_installed():
        pytest.skip("jax isn't installed: pip install '.[jax]'")
    folder = pathlib.Path(gpu.__file__).parent
    command = [sys.executable, folder, "--rehearse", "--out", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results = Results(tmp_path / "results.jsonl")
    assert all(results.has_ended(name) for name in gpu.SHARES)
    by_stage = {
        name: [line for line in results.all() if line["stage"] == name]
        for name in gpu.SHARES
    }
    for name in ("base", "small"):
        epochs = [line for line in by_stage[name] if "epoch" in line]
        assert [line["epoch"] for line in epochs] == [1, 2]
        assert all(line["dev_loss"] > 0 for line in epochs)
        assert all(line["target_tokens_per_second"] > 0 for line in epochs)
        assert epochs[0]["programs"] > 0
        assert "bleu" in by_stage[name][-2]["evaluated"]
    for name in ("torch", "big"):
        assert by_stage[name][0]["tokens_per_second"] > 0
    assert [
        line["how"].partition(",")[0] for line in by_stage["compiling"][:3]
    ] == [
        "compiled",
        "compiled",
        "from disk",
    ]
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.stderr.count("has ended before") == len(gpu.SHARES)
