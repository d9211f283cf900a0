"""Results of stages, on disk as soon as they are known."""

import json
import pathlib
import time

from scripts.benchmarks import command


class Results:
    """A file of JSON lines, each with its stage and the time of day.

    Args:
        path: of the file; results of an earlier call stay.
    """

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path

    def add(self, stage: str, **values) -> None:
        """Appends a result, and says it."""
        clock = time.strftime("%H:%M:%S")
        line = json.dumps({"stage": stage, "time": clock, **values})
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
        command.say(line)

    def all(self) -> list[dict]:
        """All results so far."""
        if not self._path.exists():
            return []
        lines = self._path.read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def has_ended(self, stage: str) -> bool:
        """True if a stage has come to its end."""
        return any(r["stage"] == stage and r.get("ended") for r in self.all())

    def failed(self) -> list[str]:
        """Stages that failed and didn't end in a later call."""
        failed = {r["stage"] for r in self.all() if "failed" in r}
        return sorted(name for name in failed if not self.has_ended(name))
