"""Service times: how long a batch takes, by its size and its longest sentence.

Measured with one thread, by the session that the embedded server runs.
"""

import dataclasses
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
        ratios: measured seconds over those of the line, `(N, R)`.
        lengths: characters of the sentences that are sent, to draw from.
        overhead: seconds that a request costs beside its batch.
    """

    sizes: np.ndarray
    lines: np.ndarray
    ratios: np.ndarray
    lengths: np.ndarray
    overhead: float = 0.0

    @classmethod
    def fit(cls, rows, lengths, overhead=0.0) -> "ServiceTimes":
        """Of measurements.

        Args:
            rows: `(size, longest, seconds)`, as many of each size.
            lengths: see the attribute.
            overhead: see the attribute.
        """
        sizes = sorted({size for size, _, _ in rows})
        lines, ratios = [], []
        for size in sizes:
            longest, seconds = np.array(
                [row[1:] for row in rows if row[0] == size]
            ).T
            line = _line(longest, seconds)
            lines.append(line)
            ratios.append(seconds / (line[0] + line[1] * longest))
        return cls(
            np.array(sizes, float),
            np.array(lines),
            np.array(ratios),
            np.asarray(lengths, float),
            overhead,
        )

    def seconds(self, size: int, longest: float, random) -> float:
        """Draws the time of a batch.

        Args:
            size: sentences.
            longest: characters of the longest.
            random: `np.random.Generator`.
        """
        intercept = np.interp(size, self.sizes, self.lines[:, 0])
        slope = np.interp(size, self.sizes, self.lines[:, 1])
        nearest = np.searchsorted(self.sizes, size).clip(0, len(self.sizes) - 1)
        ratio = random.choice(self.ratios[nearest])
        return (intercept + slope * longest) * ratio + self.overhead * size

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


def measure(folder, texts, batches, seed=0, sizes=SIZES) -> list[tuple]:
    """Runs batches of random sentences, each size in turn.

    A worker waits before each batch that isn't full: for the first sentence,
    and for its company. So there is a pause here, too.

    Args:
        folder: a version folder.
        texts: sentences to draw from.
        batches: of each size.
        seed: of the draws.
        sizes: sentences in a batch.

    Returns:
        `(size, longest, seconds)` of each batch, `longest` in characters.
    """
    from keras_transformer.export.session import SavedModelSession

    random = np.random.default_rng(seed)
    session = SavedModelSession(folder, 1)
    rows = []
    # The first time, memory is taken.
    for round_number in range(batches + 2):
        for size in sizes:
            chosen = [texts[i] for i in random.integers(len(texts), size=size)]
            inputs = np.array([text.encode() for text in chosen], object)
            if size < max(sizes):
                time.sleep(PAUSE)
            began = time.perf_counter()
            session.run(SIGNATURE, {"text": inputs})
            seconds = time.perf_counter() - began
            if round_number >= 2:
                rows.append((size, max(map(len, chosen)), seconds))
    session.close()
    return rows


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
