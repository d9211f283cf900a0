"""Discrete-event simulation of the server's queue, with measured times.

As `keras_transformer.serving.server.batching` has it: a worker that is free
waits for company, from when the first sentence came or from when it became
free, takes all that wait up to the largest batch, and computes.
"""

import numpy as np

# Seconds within which all batches meet the machine at the speed that it had in
# one round of measurements: about what such a round takes. Where other work
# slows a machine for seconds, queues grow longer than by single slow batches.
_SPELL = 1.5


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
        `latencies` of those that count, and their `mean`, `p50`, `p95` and
        `p99`, seconds; `batch_size`, the mean.
    """
    random = np.random.default_rng(seed)
    arrivals = np.cumsum(random.exponential(1 / rate, sentences))
    lengths = random.choice(times.lengths, sentences)
    free = np.zeros(workers)
    latencies = np.empty(sentences)
    first = batches = 0
    columns = random.integers(
        times.ratios.shape[1], size=int(arrivals[-1] / _SPELL) + 1
    )
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
        column = columns[min(int(start / _SPELL), len(columns) - 1)]
        done = start + times.seconds(end - first, longest, random, column)
        latencies[first:end] = done - arrivals[first:end]
        free[worker] = done
        first = end
        batches += 1
    return {
        **summary(latencies[sentences // 10 :]),
        "batch_size": sentences / batches,
    }


def summary(latencies) -> dict:
    """Latencies with their mean and quantiles, as `simulate` returns them."""
    quantiles = np.quantile(latencies, (0.5, 0.95, 0.99))
    return {
        "latencies": latencies,
        "mean": float(np.mean(latencies)),
        **dict(zip(("p50", "p95", "p99"), map(float, quantiles), strict=True)),
    }
