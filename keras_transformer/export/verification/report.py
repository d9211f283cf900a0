"""What an export and its checks say about themselves."""

import dataclasses
import pathlib


class CheckFailed(Exception):
    """An exported model isn't what the server needs; the message says why."""


@dataclasses.dataclass(frozen=True)
class CheckResult:
    """The outcome of one check.

    Attributes:
        name: of the check function.
        passed: bool.
        detail: one line: what was found.
    """

    name: str
    passed: bool
    detail: str


@dataclasses.dataclass(frozen=True)
class ExportReport:
    """What `export_run` published.

    Attributes:
        path: the version folder.
        version: int, its name.
        size: bytes in all its files.
        variables: number of weight tensors.
        signatures: names of the signatures.
        checks: every `CheckResult`, all passed.
        seconds: of the whole export, checks included.
    """

    path: pathlib.Path
    version: int
    size: int
    variables: int
    signatures: tuple[str, ...]
    checks: tuple[CheckResult, ...]
    seconds: float

    def to_dict(self) -> dict:
        """The same as JSON holds it."""
        return {**dataclasses.asdict(self), "path": str(self.path)}
