"""Which differences between recipes are real: of several seeds each.

Two kinds of chance move a score, and neither test sees the other's. A recipe
is its training, so its replicates are trainings: the mean over seeds has an
interval by Student's t, and two recipes are compared by Welch's t-test, which
doesn't take their variances to be equal (Welch 1947). Where both are searches
of the same trained models, it is the paired t-test, seed by seed. Of many
recipes compared with one base some differ by chance, so the p-values are
Holm's (1979). Whether the difference holds for other sentences is asked of one
model each, that of the median seed, by paired approximate randomisation
(Riezler & Maxwell 2005): sentences of several seeds put together are not
independent, as a model that is good by luck is so in all of them (Clark et al.
2011, who ask for replicates for that reason). A difference that both find
significant, each below 0.05, is called real. Three seeds find large
differences only: "no" means not shown.
"""

import math
import statistics
from collections.abc import Mapping, Sequence

import numpy as np

LEVEL = 0.05
_POINTS = 20_001


def mean_interval(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean, and half of its 95 % interval; None: of a single value."""
    if len(values) < 2:
        return values[0], None
    error = statistics.stdev(values) / math.sqrt(len(values))
    return statistics.mean(values), t_quantile(len(values) - 1) * error


def difference_p_value(
    ours: Sequence[float], theirs: Sequence[float], paired: bool
) -> float | None:
    """Two-sided, of the means; None: there are too few values.

    Args:
        ours: scores, one a seed.
        theirs: likewise.
        paired: whether scores of the same index are of the same model.
    """
    if paired and len(ours) == len(theirs):
        groups = [[a - b for a, b in zip(ours, theirs, strict=True)]]
    else:
        groups = [list(ours), list(theirs)]
    if min(map(len, groups)) < 2:
        return None
    shares = [statistics.variance(g) / len(g) for g in groups]
    variance = sum(shares)
    difference = abs(statistics.mean(ours) - statistics.mean(theirs))
    if not variance:
        return 0.0 if difference else 1.0
    # Welch and Satterthwaite's; of one group its size less one.
    freedom = variance**2 / sum(
        share**2 / (len(group) - 1)
        for share, group in zip(shares, groups, strict=True)
    )
    return t_p_value(difference / math.sqrt(variance), freedom)


def holm(p_values: Mapping[str, float | None]) -> dict[str, float | None]:
    """The p-values, adjusted for how many there are (Holm 1979)."""
    known = sorted((p, n) for n, p in p_values.items() if p is not None)
    adjusted, highest = dict.fromkeys(p_values), 0.0
    for index, (p, name) in enumerate(known):
        highest = max(highest, min(1.0, p * (len(known) - index)))
        adjusted[name] = highest
    return adjusted


def t_p_value(t: float, freedom: float) -> float:
    """How probable Student's t is `t` or more, in either direction.

    With t = sqrt(freedom) tan(x), its density is cos(x)^(freedom - 1), but for
    a factor.
    """
    tail = _integral(math.atan(t / math.sqrt(freedom)), freedom)
    return float(tail / _integral(0.0, freedom))


def _integral(start, freedom):
    x = np.linspace(start, math.pi / 2, _POINTS)
    return np.trapezoid(np.clip(np.cos(x), 0, 1) ** (freedom - 1), x)


def t_quantile(freedom: float, level: float = LEVEL) -> float:
    """The t that is exceeded, in either direction, with that probability."""
    low, high = 0.0, 1.0
    while t_p_value(high, freedom) > level:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        if t_p_value(middle, freedom) > level:
            low = middle
        else:
            high = middle
    return high
