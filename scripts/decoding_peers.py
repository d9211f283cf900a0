"""CTranslate2 beside `benchmark_decoding.py`, and the ratios to it."""

import json
import os
import platform
import statistics
import subprocess
import sys

_CELLS = {"b1_greedy": (1, 1), "b64_greedy": (64, 1), "b64_beam4": (64, 4)}
_PEERS = {"vs_float32": "float32", "vs_int8": "int8_float32"}


def decode(script) -> dict[str, int]:
    """One run of the peer: output tokens a second by cell."""
    done = subprocess.run(
        [sys.executable, str(script), "decode"],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{script} decode failed: {done.stderr[-500:]}")
    last = done.stdout.strip().splitlines()[-1]
    return json.loads(last)["output_tokens_per_s"]


def ratios(rows, peers: list[dict], best_rate) -> dict:
    """Median by median, each side at its best setting."""
    found = {}
    for kind in ("served", "translator"):
        for name, (batch, beam) in _CELLS.items():
            rate = best_rate(rows, kind, batch, beam)
            found[f"{kind}_{name}"] = {
                key: round(rate / _peer_rate(peers, compute, batch, beam), 3)
                for key, compute in _PEERS.items()
            }
    return found


def _peer_rate(peers, compute, batch, beam):
    cell = f"{compute} batch {batch} beam {beam}"
    return statistics.median(peer[cell] for peer in peers)


def environment() -> dict:
    """The machine and the versions, as results name them."""
    from keras_transformer.version import versions

    model = "unknown"
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            names = [line for line in file if line.startswith("model name")]
        model = names[0].split(":")[1].strip() if names else model
    return {
        "processor": model,
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        **versions(),
    }
