"""What attacks have done: counted while they run, told as a table."""

import contextlib
import resource
import sys
import time
from collections.abc import Iterator

# Variables of the environment: the share of the full size, and the file that
# gets the figures as JSON.
SIZE = "KERAS_TRANSFORMER_ATTACK_SIZE"
FIGURES = "KERAS_TRANSFORMER_ATTACK_FIGURES"
# Seconds after which something hangs.
HANG = 5.0
_MIB = 2**20


class Figures:
    """Figures of attacks.

    Attributes:
        rows: of each attack a dict of `attack`, `count`, `seconds`, `worst`
            (the longest wait, seconds; None: not measured) and `mib` (of the
            process under attack at its peak).
    """

    def __init__(self):
        self.rows = []

    @contextlib.contextmanager
    def attack(self, name: str) -> Iterator["Attack"]:
        """Counts what the block does; told if it ends well."""
        attack = Attack()
        began = time.monotonic()
        yield attack
        self.rows.append(
            {
                "attack": name,
                "count": attack.count,
                "seconds": round(time.monotonic() - began, 1),
                "worst": attack.worst and round(attack.worst, 2),
                "mib": attack.mib or peak_mib(),
            }
        )


class Attack:
    """One attack.

    Attributes:
        count: of requests, files or processes.
        worst: the longest wait for one, seconds.
        mib: of the process under attack at its peak; None: this one.
    """

    def __init__(self):
        self.count = 0
        self.worst = None
        self.mib = None

    @contextlib.contextmanager
    def one(self, most: float | None = HANG) -> Iterator[None]:
        """Counts and times the block.

        Args:
            most: seconds that it may take; None: any, and it is no wait.

        Raises:
            AssertionError: it took longer.
        """
        began = time.monotonic()
        yield
        seconds = time.monotonic() - began
        self.count += 1
        if most is not None:
            self.worst = max(self.worst or 0.0, seconds)
            assert seconds < most, f"took {seconds:.1f} s"


def peak_mib(who: int = resource.RUSAGE_SELF) -> int:
    """The most memory that this process, or its children, had at once."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(who).ru_maxrss * unit // _MIB
