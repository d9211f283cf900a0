"""OpenNMT-tf beside `benchmark_training.py`."""

import json
import resource
import subprocess
import sys


def train(script, steps: int) -> dict:
    """One run of the peer: its rate and peak memory.

    To be called in a process of its own, whose children it alone starts.
    """
    done = subprocess.run(
        [sys.executable, str(script), "train", "--steps", str(steps)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{script} train failed: {done.stderr[-500:]}")
    last = json.loads(done.stdout.strip().splitlines()[-1])
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {
        "tokens_per_second": last["tokens_per_s_median"],
        "peer_memory_mib": memory,
    }
