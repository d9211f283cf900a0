"""Service times: how long a batch takes, by its size and its longest sentence.

Measured with one thread, by the session that the embedded server runs.
"""

import dataclasses
import functools
import time

import numpy as np

SIZES = (1, 2, 4, 8, 16, 32, 64)
SIGNATURE = "serving_default"
# Seconds. A pause of 10 ms already makes the next batch slower, longer ones
# change little more: caches are cold then, and the clock may be down.
PAUSE = 0.05


@dataclasses.dataclass(frozen=True)
class ServiceTimes:
    """Seconds of a batch: a line over the longest length, for each size.

    Between two sizes that were measured both ends of the line are
    interpolated; what the line leaves over is drawn from what was left over
    in measuring.

    Attributes:
        sizes: that were measured, `(N,)`, the first is 1.
        lines: intercept and slope for each, seconds, `(N, 2)`.
        ratios: measured seconds over those of the line, `(N, R)`; a column
            was measured within seconds, each size once.
        lengths: characters of the sentences that are sent, to draw from.
        overhead: seconds that a request costs beside its batch.
    """

    sizes: np.ndarray
    lines: np.ndarray
    ratios: np.ndarray
    lengths: np.ndarray
    overhead: float = 0.0

    @functools.cached_property
    def _speeds(self):
        """How slow the machine was in each column, (R,)."""
        return np.median(self.ratios, axis=0)

    @functools.cached_property
    def _alone(self):
        """What is left of the ratios without that, (N, R)."""
        return self.ratios / self._speeds

    @classmethod
    def fit(cls, rows, lengths, overhead=0.0) -> "ServiceTimes":
        """Of measurements.

        Args:
            rows: `(size, longest, seconds)`, as many of each size, in the
                order in which they were measured.
            lengths: see the attribute.
            overhead: see the attribute.
        """
        by_size = _by_size(rows)
        lines = np.array([_line(*measured.T) for measured in by_size.values()])
        return cls(
            np.array(list(by_size), float),
            lines,
            _ratios(rows, lines),
            np.asarray(lengths, float),
            overhead,
        )

    def measured_near(self, rows) -> "ServiceTimes":
        """The same lines, with what is left over by other measurements.

        Args:
            rows: as for `fit`, in the order in which they were measured.
        """
        return dataclasses.replace(self, ratios=_ratios(rows, self.lines))

    def seconds(self, size: int, longest: float, random, column=None) -> float:
        """Draws the time of a batch.

        Args:
            size: sentences.
            longest: characters of the longest.
            random: `np.random.Generator`.
            column: of `ratios`, whose median is the machine's speed then;
                only what the nearest size leaves over beside it is drawn.
                None: all is.
        """
        intercept = np.interp(size, self.sizes, self.lines[:, 0])
        slope = np.interp(size, self.sizes, self.lines[:, 1])
        nearest = np.searchsorted(self.sizes, size).clip(0, len(self.sizes) - 1)
        if column is None:
            ratio = random.choice(self.ratios[nearest])
        else:
            ratio = random.choice(self._alone[nearest]) * self._speeds[column]
        return (intercept + slope * longest + self.overhead * size) * ratio

    def samples(self, largest: int, number: int, random) -> np.ndarray:
        """Times of batches of random sentences, `(largest + 1, number)`.

        The first row, of no sentences, is 0.
        """
        drawn = np.zeros((largest + 1, number))
        for size in range(1, largest + 1):
            for index in range(number):
                longest = random.choice(self.lengths, size).max()
                drawn[size, index] = self.seconds(size, longest, random)
        return drawn

    def full_rate(self, largest: int, random) -> float:
        """Sentences a second in full batches, beyond which queues grow."""
        times = [
            self.seconds(
                largest, random.choice(self.lengths, largest).max(), random
            )
            for _ in range(200)
        ]
        return largest / float(np.mean(times))


class Batches:
    """Runs batches of random sentences on one thread.

    Args:
        folder: a version folder.
        texts: sentences to draw from.
        seed: of the draws.
        sizes: sentences in a batch.
    """

    def __init__(self, folder, texts, seed=0, sizes=SIZES):
        from keras_transformer.export.session import SavedModelSession

        self._random = np.random.default_rng(seed)
        self._session = SavedModelSession(folder, 1)
        self._texts, self._sizes = texts, sizes
        # The first time, memory is taken.
        self.measure(2)

    def measure(self, rounds: int) -> list[tuple]:
        """Runs a batch of each size in turn, so many times.

        A worker waits before each batch that isn't full: for the first
        sentence, and for its company. So there is a pause here, too.

        Returns:
            `(size, longest, seconds)` of each, `longest` in characters.
        """
        return [
            self._run(size, PAUSE if size < max(self._sizes) else 0.0)
            for _ in range(rounds)
            for size in self._sizes
        ]

    def full_seconds(self, batches: int) -> float:
        """The mean time of the largest batch, without pauses."""
        runs = [self._run(max(self._sizes), 0.0) for _ in range(batches)]
        return float(np.mean([seconds for _, _, seconds in runs]))

    def _run(self, size, pause):
        numbers = self._random.integers(len(self._texts), size=size)
        chosen = [self._texts[number] for number in numbers]
        inputs = np.array([text.encode() for text in chosen], object)
        time.sleep(pause)
        began = time.perf_counter()
        self._session.run(SIGNATURE, {"text": inputs})
        return size, max(map(len, chosen)), time.perf_counter() - began


def start(folder, texts):
    """Makes the `Batches` of this process, which `call` asks."""
    global _batches
    _batches = Batches(folder, texts)


def call(method: str, *arguments):
    """What a method of this process' `Batches` returns."""
    return getattr(_batches, method)(*arguments)


def table(rows) -> list[dict]:
    """Median milliseconds by batch size, of the shorter and longer halves."""
    lines = []
    for size in sorted({size for size, _, _ in rows}):
        own = sorted((row[1], row[2]) for row in rows if row[0] == size)
        half = max(1, len(own) // 2)
        line = {"batch_size": size}
        for name, part in (("shorter", own[:half]), ("longer", own[half:])):
            if not part:
                continue
            line[f"{name}_characters"] = float(np.median([x for x, _ in part]))
            line[f"{name}_ms"] = 1000 * float(np.median([t for _, t in part]))
        lines.append(line)
    return lines


def _by_size(rows):
    """Longest lengths and seconds, `{size: (R, 2)}`, in their order."""
    sizes = sorted({size for size, _, _ in rows})
    return {
        size: np.array([row[1:] for row in rows if row[0] == size], float)
        for size in sizes
    }


def _ratios(rows, lines):
    """Measured seconds over those of the lines, (N, R)."""
    return np.array(
        [
            seconds / (intercept + slope * longest)
            for (intercept, slope), (longest, seconds) in zip(
                lines, (own.T for own in _by_size(rows).values()), strict=True
            )
        ]
    )


def _line(longest, seconds):
    """Intercept and slope by least squares; flat where lengths hardly vary.

    Never falling, and never below nothing: a longer batch isn't faster, and
    noise shall not say so.
    """
    if np.ptp(longest) > 0:
        slope, intercept = np.polyfit(longest, seconds, 1)
        if slope > 0 and intercept >= 0:
            return intercept, slope
    return float(np.mean(seconds)), 0.0
