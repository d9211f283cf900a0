"""CTranslate2 beside `benchmark_decoding.py`, and the ratios to it."""

import statistics

from benchmark_frame import run_peer

_CELLS = {"b1_greedy": (1, 1), "b64_greedy": (64, 1), "b64_beam4": (64, 4)}
_PEERS = {"vs_float32": "float32", "vs_int8": "int8_float32"}


def decode(script) -> dict[str, int]:
    """One run of the peer: output tokens a second by cell."""
    return run_peer(script, "decode")["output_tokens_per_s"]


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
