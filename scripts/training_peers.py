"""OpenNMT-tf beside `benchmark_training.py`."""

import resource

from benchmark_frame import run_peer


def train(script, steps: int) -> dict:
    """One run of the peer: its rate and peak memory.

    To be called in a process of its own, whose children it alone starts.
    """
    last = run_peer(script, "train", "--steps", steps)
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return {
        "tokens_per_second": last["tokens_per_s_median"],
        "peer_memory_mib": memory,
    }
