"""Queueing model of one worker that joins requests to batches.

Poisson arrivals, one server, batches of all that wait, up to a largest, and
times that depend on the size: the chain of what waits when a batch ends is a
Markov chain, whose stationary distribution gives the latencies. Source:
Y. Inoue, "Queueing analysis of GPU-based inference servers with dynamic
batching: a closed-form characterization", Performance Evaluation 147 (2021),
arXiv:1912.06322, which bounds the mean; the quantiles are computed here from
the same chain, with the wait for company and the largest batch added.

k workers are taken for k such queues, each with its part of the arrivals. They
share one queue in truth, which is never slower: so it errs on the safe side.
"""

import numpy as np

_DRAWS = 16  # of the time of a batch of each size
_MOMENTS = 8  # of an arrival, during a batch
_LEAST = 1e-6  # probability of what is looked at
_COMPANY = (0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95)  # quantiles of others


class BatchQueue:
    """One worker.

    Args:
        times: `ServiceTimes`.
        largest: sentences of a batch.
        timeout: seconds that the first of a batch waits for others.
        seed: of the draws of times.
    """

    def __init__(self, times, largest=64, timeout=0.005, seed=0):
        random = np.random.default_rng(seed)
        self._times = times.samples(largest, _DRAWS, random)
        self._largest = largest
        self._timeout = timeout
        self._states = 5 * largest
        self.full_rate = times.full_rate(largest, random)

    def latency(self, rate: float, quantile: float = 0.99) -> float:
        """Seconds that so many of the answers take at most.

        Args:
            rate: sentences a second.
            quantile: such as 0.99.

        Returns:
            infinity where the rate is more than full batches bear.
        """
        if rate >= self.full_rate:
            return float("inf")
        seconds, weights = self._latencies(rate)
        order = np.argsort(seconds)
        passed = np.cumsum(weights[order])
        index = np.searchsorted(passed, quantile * passed[-1])
        return float(seconds[order][min(index, len(order) - 1)])

    def bearable_rate(self, seconds: float, quantile: float = 0.99) -> float:
        """The highest rate with that latency; 0: it is never so short."""
        low, high = 0.0, self.full_rate
        for _ in range(12):
            middle = (low + high) / 2
            if self.latency(middle, quantile) <= seconds:
                low = middle
            else:
                high = middle
        return low

    def _batches(self, rate):
        """Probabilities of the size of the next batch, (states, M + 1)."""
        largest = self._largest
        company = _poisson(rate * self._timeout, largest + 1)
        sizes = np.zeros((self._states, largest + 1))
        for waiting in range(self._states):
            # Where nobody waits, the next to come is the first.
            known = min(max(waiting, 1), largest)
            room = largest - known
            sizes[waiting, known:largest] = company[:room]
            sizes[waiting, largest] = 1 - company[:room].sum()
        return sizes

    def _chain(self, rate):
        """Stationary probabilities of what waits when a batch ends, and sizes.

        Returns:
            (states,) and (states, M + 1).
        """
        sizes = self._batches(rate)
        arrivals = np.array(
            [
                np.mean([_poisson(rate * t, self._states) for t in row], axis=0)
                for row in self._times
            ]
        )  # (M + 1, states)
        moves = sizes @ arrivals  # (states, states), of those who all fit
        for waiting in range(self._largest + 1, self._states):
            left = waiting - self._largest
            moves[waiting] = 0
            moves[waiting, left:] = arrivals[-1, : self._states - left]
        # What is beyond the last state is in it.
        moves[:, -1] += 1 - moves.sum(axis=1)
        equations = np.vstack(
            [moves.T - np.eye(self._states), np.ones(len(moves))]
        )
        right = np.zeros(self._states + 1)
        right[-1] = 1
        found = np.linalg.lstsq(equations, right, rcond=None)[0]
        return np.clip(found, 0, None), sizes

    def _latencies(self, rate):
        """Latencies with their weights, of all ways to arrive."""
        waiting, sizes = self._chain(rate)
        parts = []
        first = waiting[0] * sizes[0]  # (M + 1,), the first and its company
        for size in np.flatnonzero(first > _LEAST):
            times = self._timeout + self._times[size]
            parts.append((times, np.full(_DRAWS, first[size] / _DRAWS)))
        company = waiting[: self._largest] @ sizes[: self._largest]
        for size in np.flatnonzero(company > _LEAST):
            times = self._timeout / 2 + self._times[size]
            weight = company[size] * rate * self._timeout / _DRAWS
            parts.append((times, np.full(_DRAWS, weight)))
        for size in np.flatnonzero(company > _LEAST):
            parts.append(self._during(rate, size, 0, company[size]))
        for state in range(self._largest, self._states):
            if waiting[state] > _LEAST:
                left = state - self._largest
                part = self._during(rate, self._largest, left, waiting[state])
                parts.append(part)
        seconds, weights = zip(*parts, strict=True)
        return np.concatenate(seconds), np.concatenate(weights)

    def _during(self, rate, size, left, weight):
        """Who comes while a batch runs, and `left` others wait already."""
        times = self._times[size][:, None, None]  # (R, 1, 1)
        moments = (np.arange(_MOMENTS) + 0.5) / _MOMENTS
        moments = moments[:, None]  # (U, 1)
        others = _company(rate * self._times[size])[:, None, :]  # (R, 1, Q)
        ahead = (left + others * moments) // self._largest  # (R, U, Q)
        rest = left + 1 + others - ahead * self._largest
        own = (rest + rate * self._timeout).round()
        own = own.clip(1, self._largest).astype(int)
        wait = np.where(rest < self._largest, self._timeout, 0.0)
        before = (1 - moments) * times + ahead * self._times[-1].mean() + wait
        seconds = before[..., None] + self._times[own]  # (R, U, Q, R)
        weights = np.broadcast_to(times[..., None], seconds.shape)
        share = weight * rate / seconds.size
        return seconds.ravel(), share * weights.ravel()


def _poisson(mean, number):
    """Probabilities of 0, 1, ..., (number,)."""
    counts = np.arange(number)
    if mean <= 0:
        return (counts == 0).astype(float)
    # In logarithms, as factorials outgrow floats.
    logarithms = np.concatenate([[0.0], np.cumsum(np.log(counts[1:]))])
    return np.exp(counts * np.log(mean) - mean - logarithms)


def _company(means):
    """Quantiles of Poisson distributions, (R, Q) of means (R,)."""
    rows = []
    for mean in means:
        number = int(mean + 6 * np.sqrt(mean) + 10)
        passed = np.cumsum(_poisson(mean, number))
        rows.append(np.searchsorted(passed, _COMPANY))
    return np.array(rows, float)
