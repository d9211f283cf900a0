"""Service times: how long a batch takes, by its size and its longest sentence.

Measured with one thread, by the session that the embedded server runs.
"""

import dataclasses
import time

import numpy as np

SIZES = (1, 2, 4, 8, 16, 32, 64)
SIGNATURE = "serving_default"
PAUSE = 0.05  # seconds; ten times as long changed little


@dataclasses.dataclass(frozen=True)
class _Lines:
    """Seconds of a batch: a line over the longest length, for each size.

    Between two sizes that were measured both ends of the line are
    interpolated; what the line leaves over is drawn from what was left over
    in measuring.

    Attributes:
        sizes: that were measured, `(N,)`, the first is 1.
        lines: intercept and slope for each, seconds, `(N, 2)`.
        ratios: measured seconds over those of the line, `(N, R)`.
    """

    sizes: np.ndarray
    lines: np.ndarray
    ratios: np.ndarray

    @classmethod
    def fit(cls, rows) -> "_Lines":
        sizes = sorted({size for size, _, _ in rows})
        lines, ratios = [], []
        for size in sizes:
            longest, seconds = np.array(
                [row[1:] for row in rows if row[0] == size]
            ).T
            line = _line(longest, seconds)
            lines.append(line)
            ratios.append(seconds / (line[0] + line[1] * longest))
        return cls(np.array(sizes, float), np.array(lines), np.array(ratios))

    def seconds(self, size, longest, random) -> float:
        intercept = np.interp(size, self.sizes, self.lines[:, 0])
        slope = np.interp(size, self.sizes, self.lines[:, 1])
        nearest = np.searchsorted(self.sizes, size).clip(0, len(self.sizes) - 1)
        return (intercept + slope * longest) * random.choice(
            self.ratios[nearest]
        )


@dataclasses.dataclass(frozen=True)
class ServiceTimes:
    """Seconds of a batch, by its size and its longest sentence.

    A processor that was idle is slower at first: its caches are cold, and its
    clock may be down. So there are two measurements.

    Attributes:
        busy: of batches that follow each other.
        after_pause: of batches before which nothing was computed.
        lengths: characters of the sentences that are sent, to draw from.
        overhead: seconds that a request costs beside its batch.
    """

    busy: _Lines
    after_pause: _Lines
    lengths: np.ndarray
    overhead: float = 0.0

    @classmethod
    def fit(
        cls, rows, lengths, overhead=0.0, after_pause=None
    ) -> "ServiceTimes":
        """Of measurements.

        Args:
            rows: `(size, longest, seconds)`, as many of each size.
            lengths: see the attribute.
            overhead: see the attribute.
            after_pause: as `rows`; None: a pause changes nothing.
        """
        busy = _Lines.fit(rows)
        return cls(
            busy,
            busy if after_pause is None else _Lines.fit(after_pause),
            np.asarray(lengths, float),
            overhead,
        )

    def seconds(
        self, size: int, longest: float, random, after_pause: bool = False
    ) -> float:
        """Draws the time of a batch.

        Args:
            size: sentences.
            longest: characters of the longest.
            random: `np.random.Generator`.
            after_pause: whether the worker was idle before.
        """
        lines = self.after_pause if after_pause else self.busy
        return lines.seconds(size, longest, random) + self.overhead * size

    def samples(
        self, largest: int, number: int, random, after_pause: bool = False
    ) -> np.ndarray:
        """Times of batches of random sentences, `(largest + 1, number)`.

        The first row, of no sentences, is 0.
        """
        drawn = np.zeros((largest + 1, number))
        for size in range(1, largest + 1):
            for index in range(number):
                longest = random.choice(self.lengths, size).max()
                drawn[size, index] = self.seconds(
                    size, longest, random, after_pause
                )
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


def measure(
    folder, texts, batches, seed=0, sizes=SIZES, pause=PAUSE
) -> tuple[list[tuple], list[tuple]]:
    """Runs batches of random sentences, each size in turn, then with pauses.

    Args:
        folder: a version folder.
        texts: sentences to draw from.
        batches: of each size.
        seed: of the draws.
        sizes: sentences in a batch.
        pause: seconds before each batch, the second time.

    Returns:
        `(size, longest, seconds)` of each batch, `longest` in characters, of
        those that follow each other and of those after pauses.
    """
    from keras_transformer.export.session import SavedModelSession

    random = np.random.default_rng(seed)
    session = SavedModelSession(folder, 1)

    def run(size):
        chosen = [texts[i] for i in random.integers(len(texts), size=size)]
        inputs = np.array([text.encode() for text in chosen], object)
        began = time.perf_counter()
        session.run(SIGNATURE, {"text": inputs})
        seconds = time.perf_counter() - began
        return size, max(map(len, chosen)), seconds

    # The first time, memory is taken.
    rows = [run(size) for _ in range(batches + 2) for size in sizes]
    after_pause = []
    for size in [*sizes] * batches:
        time.sleep(pause)
        after_pause.append(run(size))
    session.close()
    return rows[2 * len(sizes) :], after_pause


def table(rows, after_pause) -> list[dict]:
    """Median milliseconds by batch size, of the shorter and longer halves.

    After a pause: of all.
    """
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
        rested = [row[2] for row in after_pause if row[0] == size]
        line["after_pause_ms"] = 1000 * float(np.median(rested))
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
