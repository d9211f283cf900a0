"""Discrete-event simulation of the server's queue, with measured times.

As `keras_transformer.serving.server.batching` has it: a worker that is free
waits for company, from when the first sentence came or from when it became
free, takes all that wait up to the largest batch, and computes.
"""

import numpy as np


def simulate(
    times, rate, sentences=40_000, workers=1, largest=64, timeout=0.005, seed=0
) -> dict:
    """Sends sentences at random moments.

    Args:
        times: `ServiceTimes`.
        rate: sentences a second, Poisson.
        sentences: how many; the first tenth isn't counted.
        workers: that compute side by side, a core each.
        largest: sentences of a batch.
        timeout: seconds that the first of a batch waits for others.
        seed: of arrivals, lengths and times.

    Returns:
        `p50`, `p95`, `p99`, `mean`, seconds; `batch_size`, the mean.
    """
    random = np.random.default_rng(seed)
    arrivals = np.cumsum(random.exponential(1 / rate, sentences))
    lengths = random.choice(times.lengths, sentences)
    free = np.zeros(workers)
    latencies = np.empty(sentences)
    first = batches = 0
    while first < sentences:
        # Who became free first has waited longest for company.
        worker = int(np.argmin(free))
        start = max(arrivals[first], free[worker]) + timeout
        end = min(first + largest, sentences)
        end = first + int(
            np.searchsorted(arrivals[first:end], start, side="right")
        )
        if end - first == largest:
            # A full batch waits for nobody.
            start = max(arrivals[end - 1], free[worker])
        longest = lengths[first:end].max()
        done = start + times.seconds(end - first, longest, random)
        latencies[first:end] = done - arrivals[first:end]
        free[worker] = done
        first = end
        batches += 1
    counted = latencies[sentences // 10 :]
    quantiles = np.quantile(counted, (0.5, 0.95, 0.99))
    return {
        **dict(zip(("p50", "p95", "p99"), map(float, quantiles), strict=True)),
        "mean": float(counted.mean()),
        "batch_size": sentences / batches,
    }
