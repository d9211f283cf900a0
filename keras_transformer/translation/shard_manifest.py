"""The manifest of a text that is translated shard by shard.

It records the text, the model, the options and where each shard begins. A
process with other ones can't resume the job, and a manifest that was changed is
refused.
"""

import dataclasses
import itertools
import json
import os
import pathlib

from keras_transformer.errors import InputError, shown
from keras_transformer.system.checksums import digest
from keras_transformer.system.files import read_json, write_json
from keras_transformer.translation.shards import Shard, scan_text, window_edges
from keras_transformer.translation.stream import missing_prefix

FORMAT = 2


@dataclasses.dataclass(frozen=True)
class BulkJob:
    """A text to translate in shards, and everything that affects the result.

    Attributes:
        input: path of the text, plain or compressed.
        prefixes: path of a file with a prefix for each line, or None.
        output: path of the result.
        count: number of shards.
        batch_size: lines translated together, at most.
        window: lines that are sorted into batches together.
        model: fingerprint of the model.
        options: everything else that affects a translation; JSON-able.
    """

    input: str
    prefixes: str | None
    output: str
    count: int
    batch_size: int
    window: int
    model: str
    options: dict

    @property
    def folder(self) -> pathlib.Path:
        """The work folder, beside the output."""
        return pathlib.Path(f"{self.output}.shards")

    @property
    def texts(self) -> dict[str, str]:
        """The paths of "input" and, if there is one, of "prefix"."""
        prefixes = {} if self.prefixes is None else {"prefix": self.prefixes}
        return {"input": self.input, **prefixes}


def write_manifest(path: pathlib.Path, job: BulkJob) -> None:
    """Reads the text once, and writes the manifest of its shards.

    Raises:
        InputError: a line isn't UTF-8, there isn't a prefix for each line, or
            a compressed file is damaged.
        OSError: a file can't be read or written.
    """
    texts = {name: _describe(path) for name, path in job.texts.items()}
    scans = {n: scan_text(path, job.window) for n, path in job.texts.items()}
    text, prefixes = scans["input"], scans.get("prefix")
    if prefixes and prefixes.lines != text.lines:
        shorter = job.prefixes if prefixes.lines < text.lines else "input"
        number = min(prefixes.lines, text.lines) + 1
        raise missing_prefix(str(job.prefixes), number, str(shorter))
    edges = window_edges(len(text.offsets) - 1, job.count)
    for name, scan in scans.items():
        texts[name]["sha256"] = scan.sha256
        texts[name]["offsets"] = [scan.offsets[edge] for edge in edges]
    manifest = {
        "format": FORMAT,
        "texts": texts,
        "lines": [min(edge * job.window, text.lines) for edge in edges],
        "model": job.model,
        "options": _options(job),
    }
    write_json(path, {**manifest, "sha256": _digest(manifest)})


def read_manifest(path: pathlib.Path) -> dict:
    """The content of a manifest that `write_manifest` wrote.

    Raises:
        InputError: the file is damaged, or isn't such a manifest.
    """
    manifest = read_json(path)
    content = {k: value for k, value in manifest.items() if k != "sha256"}
    if (
        path.is_symlink()
        or manifest.get("sha256") != _digest(content)
        or manifest.get("format") != FORMAT
    ):
        raise InputError(
            f"{path}: damaged, or of another version. Accepted: what "
            "`translate-shards` wrote, or no such folder"
        )
    return manifest


def shards_of(manifest: dict) -> list[Shard]:
    """The shards that a manifest lists."""
    offsets = [text["offsets"] for text in manifest["texts"].values()]
    return [
        Shard(n, first, last - first, [column[n : n + 2] for column in offsets])
        for n, (first, last) in enumerate(itertools.pairwise(manifest["lines"]))
    ]


def difference(manifest: dict, job: BulkJob) -> str | None:
    """Names what differs from the job of a manifest; None if nothing does.

    Raises:
        InputError, OSError: a text can't be read.
    """
    for name in ("input", "prefix"):
        begun = manifest["texts"].get(name)
        if not _same_text(begun, job.texts.get(name), job.window):
            return f"another {name}"
    if manifest["model"] != job.model:
        return "another model"
    count = len(manifest["lines"]) - 1
    if count != job.count:
        return f"{count} shards and not {job.count}"
    begun, ours = manifest["options"], _options(job)
    for name in sorted(begun.keys() | ours.keys()):
        if begun.get(name) != ours.get(name):
            now = shown(ours.get(name))
            return f"{name} {shown(begun.get(name))} and not {now}"
    return None


def _options(job) -> dict:
    """The options as they are when read back from JSON."""
    options = {"batch_size": job.batch_size, **job.options}
    return json.loads(json.dumps(options))


def _digest(manifest) -> str:
    return digest(json.dumps(manifest, sort_keys=True).encode())


def _same_text(described, path, window) -> bool:
    """True if a file is the one that was described, or a copy of it."""
    if described is None or path is None:
        return described is path
    now = _describe(path)
    return now.items() <= described.items() or (
        now["bytes"] == described["bytes"]
        and scan_text(path, window).sha256 == described["sha256"]
    )


def _describe(path) -> dict:
    """A file's bytes, and the time of its last change in nanoseconds."""
    # Not `Path.stat`: `Path` drops a slash at the end of a name.
    status = os.stat(path)  # noqa: PTH116
    return {"bytes": status.st_size, "modified": status.st_mtime_ns}
