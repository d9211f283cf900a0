"""The manifest of a text that is translated shard by shard.

It says what is translated, by which model and with which options, and where
each shard begins. A process that is to go on with other ones is refused.
"""

import dataclasses
import os
import pathlib

from keras_transformer.errors import InputError, shown
from keras_transformer.translation.shards import Shard, cut, scan_text
from keras_transformer.translation.text_files import missing_prefix

FORMAT = 1
_ACCEPTED = "what `translate --shards` wrote"


@dataclasses.dataclass(frozen=True)
class BulkJob:
    """A text to be translated in shards, and all that decides the result.

    Attributes:
        input: path of the text, plain or gzip.
        prefixes: path of a file with a prefix for each line, or None.
        output: path of the result.
        count: shards.
        window: lines that are sorted into batches together.
        model: fingerprint of the model.
        options: all else that decides a translation; JSON-able.
    """

    input: str
    prefixes: str | None
    output: str
    count: int
    window: int
    model: str
    options: dict

    @property
    def folder(self) -> pathlib.Path:
        """The work folder, beside the output."""
        return pathlib.Path(f"{self.output}.shards")

    @property
    def texts(self) -> dict[str, str]:
        """The paths that are read, each by what it is."""
        paths = {"input": self.input, "prefix": self.prefixes}
        return {name: path for name, path in paths.items() if path is not None}


def plan(job: BulkJob) -> tuple[dict, int | None]:
    """Reads the text once, and cuts it.

    Returns:
        the manifest, and the number of the first line that isn't UTF-8, None
        if all are.

    Raises:
        InputError: there isn't a prefix for each line, or a gzip file is
            damaged.
        OSError: a file can't be read.
    """
    described = {name: _describe(path) for name, path in job.texts.items()}
    scans = {n: scan_text(path, job.window) for n, path in job.texts.items()}
    text, prefixes = scans["input"], scans.get("prefix")
    if prefixes and prefixes.lines != text.lines:
        shorter = job.prefixes if prefixes.lines < text.lines else "input"
        number = min(prefixes.lines, text.lines) + 1
        raise missing_prefix(str(job.prefixes), number, str(shorter))
    for name, scan in scans.items():
        described[name]["sha256"] = scan.sha256
    shards = cut(text, job.count, job.window, prefixes)
    manifest = {
        "format": FORMAT,
        **described,
        "model": job.model,
        "options": job.options,
        "shards": [dataclasses.asdict(shard) for shard in shards],
    }
    return manifest, text.undecodable


def shards_of(manifest: dict, path: pathlib.Path) -> list[Shard]:
    """The shards that a manifest lists.

    Args:
        manifest: its content.
        path: its file, for an error's message.

    Raises:
        InputError: it is damaged.
    """
    try:
        shards = [Shard(**values) for values in manifest["shards"]]
        numbers = [n for shard in shards for n in dataclasses.astuple(shard)]
        if any(type(n) is not int or n < 0 for n in numbers):
            raise TypeError
        return shards
    except (KeyError, TypeError):
        raise InputError(f"{path}: damaged. Accepted: {_ACCEPTED}") from None


def difference(manifest: dict, job: BulkJob, path: pathlib.Path) -> str | None:
    """With what else a manifest's job was begun; None: with the same.

    Args:
        manifest: its content.
        job: the job that is to go on.
        path: the manifest's file, for an error's message.

    Raises:
        InputError: it is damaged.
        OSError: a text can't be read.
    """
    try:
        return _difference(manifest, job)
    except (KeyError, TypeError, AttributeError):
        raise InputError(f"{path}: damaged. Accepted: {_ACCEPTED}") from None


def _difference(manifest, job):
    if manifest["format"] != FORMAT:
        return f"format {shown(manifest['format'])} and not {FORMAT}"
    for name, described in (
        ("input", manifest["input"]),
        ("prefix", manifest.get("prefix")),
    ):
        if not _same_text(described, job.texts.get(name), job.window):
            return f"another {name}"
    if manifest["model"] != job.model:
        return "another model"
    if len(manifest["shards"]) != job.count:
        return f"{len(manifest['shards'])} shards and not {job.count}"
    begun = manifest["options"]
    for name in sorted(begun.keys() | job.options.keys()):
        if begun.get(name) != job.options.get(name):
            ours = shown(job.options.get(name))
            return f"{name} {shown(begun.get(name))} and not {ours}"
    return None


def _same_text(described, path, window) -> bool:
    """Whether a file is the one that was described, or a copy of it."""
    if described is None or path is None:
        return described is path
    now = _describe(path)
    if now["bytes"] != described["bytes"]:
        return False
    if now["modified"] == described["modified"]:
        return True
    return scan_text(path, window).sha256 == described["sha256"]


def _describe(path) -> dict:
    """A file's name, bytes, and time of its last change in nanoseconds."""
    # By the name that was given: `Path` drops a slash at its end.
    status = os.stat(path)  # noqa: PTH116
    return {
        "name": os.path.basename(path),  # noqa: PTH119
        "bytes": status.st_size,
        "modified": status.st_mtime_ns,
    }
