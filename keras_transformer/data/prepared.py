"""Prepared data: reads and checks the folder that `prepare` writes."""

import dataclasses
import functools
import json
import os
import pathlib
from collections.abc import Iterable, Iterator

import numpy as np

from keras_transformer.config import Config
from keras_transformer.config.data import DataConfig
from keras_transformer.data.corpus import read_pairs
from keras_transformer.data.lines import LINE_BYTES, read_errors
from keras_transformer.data.mixing import WeightedCorpus
from keras_transformer.errors import InputError, shown
from keras_transformer.system.checksums import (
    check_file,
    describe_file,
    digest,
    is_bare_name,
)
from keras_transformer.system.files import read_json_value
from keras_transformer.system.remote import RemotePath
from keras_transformer.text.tokenizer import Tokenizer, load_tokenizer

FORMAT = "keras_transformer.data"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"
DEV_PAIRS = "dev.tsv"
TOKENIZERS = ("source_tokenizer", "target_tokenizer")  # folders
TOKENIZER_FINGERPRINTS = "tokenizer_fingerprints"
_SEAL = "manifest_sha256"
_FEW_PAIRS = 10_000
_REMEDY = "prepare the data again"
_SECTIONS = {
    "config": dict,
    "counts": dict,
    "fingerprint": str,
    "report": dict,
    "splits": dict,
    TOKENIZER_FINGERPRINTS: dict,
}


class PreparedData:
    """Prepared data on disk, as written by `prepare`.

    Attributes:
        path: the folder.
        manifest: the content of its `manifest.json`.
        config: the data configuration.
        counts: pairs of each split: `{"train": ..., "dev": ...}`.
        report: counts from the preparation; see `prepare`.
        fingerprint: SHA-256 of the input files, the choice of dev and the
            configuration: equal for equal data.
    """

    def __init__(
        self,
        path: pathlib.Path | RemotePath,
        manifest: dict,
        config: DataConfig,
    ) -> None:
        self.path = path
        self.manifest = manifest
        self.config = config
        self.counts: dict[str, int] = manifest["counts"]
        self.report: dict = manifest["report"]
        self.fingerprint: str = manifest["fingerprint"]

    def __repr__(self) -> str:
        counts = ", ".join(f"{n:,} {split}" for split, n in self.counts.items())
        return (
            f"PreparedData({str(self.path)!r}, {self.config.source_language} "
            f"to {self.config.target_language}, pairs: {counts})"
        )

    @classmethod
    def load(cls, path: str | os.PathLike) -> "PreparedData":
        """Opens a folder of prepared data; checks that all files are there.

        Raises:
            InputError: the folder isn't prepared data, was made in another
                format, or a file is missing or has another size.
        """
        if "://" in os.fspath(path):
            raise InputError(
                f"{path}: an address. Accepted: a folder of this machine, such "
                "as a copy of it"
            )
        path = pathlib.Path(path)
        manifest = _read_manifest(path)
        name = f"{path / MANIFEST}"
        config = Config().updated({"data": manifest["config"]}, name).data
        data = cls(path, manifest, config)
        try:
            for split in manifest["splits"]:
                sum(data.shard_sizes(split))
            for file, described in data._files():
                if not is_bare_name(described["name"]):
                    raise ValueError
                check_file(file, described, _REMEDY)
            sum(data.counts.values())
        except InputError:
            raise
        except (KeyError, TypeError, AttributeError, ValueError):
            raise InputError(f"{name}: damaged list of files") from None
        return data

    @functools.cached_property
    def source_tokenizer(self) -> Tokenizer:
        """The source's tokenizer, loaded on first use."""
        return self._tokenizer(TOKENIZERS[0])

    @functools.cached_property
    def target_tokenizer(self) -> Tokenizer:
        """The target's tokenizer, loaded on first use."""
        return self._tokenizer(TOKENIZERS[1])

    def _tokenizer(self, name):
        """Loads a tokenizer; refuses one that has changed since preparation."""
        tokenizer = load_tokenizer(self.path / name)
        expected = self.manifest[TOKENIZER_FINGERPRINTS].get(name)
        if expected != tokenizer.fingerprint():
            raise InputError(
                f"{self.path / name}: not the tokenizer that the data was "
                f"prepared with (its fingerprint is not the one in {MANIFEST})"
                f"; {_REMEDY}"
            )
        return tokenizer

    def files(self, split: str) -> list[pathlib.Path]:
        """The shards of a split, in order.

        Raises:
            InputError: the data has no such split.
        """
        return [self.path / shard["name"] for shard in self._shards(split)]

    def shard_sizes(self, split: str) -> list[int]:
        """The pairs in each of `files(split)`."""
        return [shard["pairs"] for shard in self._shards(split)]

    def lengths(self, split: str) -> np.ndarray:
        """Source and target ids of each pair, in the order of the records.

        Returns:
            int32 `(N, 2)`, mapped from disk.

        Raises:
            InputError: the file is damaged.
        """
        path = self.path / self._split(split)["lengths"]["name"]
        try:
            lengths = np.load(path, mmap_mode="r", allow_pickle=False)
        except Exception as error:  # NumPy raises many kinds of errors.
            raise InputError(f"{path}: damaged ({error})") from None
        if lengths.shape != (sum(self.shard_sizes(split)), 2):
            raise InputError(f"{path}: damaged (shape {lengths.shape})")
        return lengths

    def dev_pairs(self) -> Iterator[tuple[str, str]]:
        """The cleaned text of the dev pairs, in the order of a dev file."""
        if "dev" not in self.manifest["splits"]:
            return iter(())
        # A line has two sides, which cleaning may have lengthened.
        longest = 4 * LINE_BYTES
        return read_pairs([self.path / DEV_PAIRS], longest)

    def verify(self, share: tuple[int, int] = (0, 1)) -> None:
        """Reads every data file and compares it with the manifest's SHA-256.

        Args:
            share: (index, count): checks only every `count`-th file from
                `index` on, so that several hosts can share the work.

        Raises:
            InputError: names the first file that is missing or differs.
        """
        index, count = share
        for path, described in list(self._files())[index::count]:
            check_file(path, described, _REMEDY, content=True)

    def _files(self):
        """Yields every data file with its description in the manifest."""
        for split in self.manifest["splits"].values():
            for described in files_of(split):
                yield self.path / described["name"], described

    def _split(self, split):
        splits = self.manifest["splits"]
        if split not in splits:
            raise InputError(
                f"{self.path} has no {split} split. Has: {', '.join(splits)}"
            )
        return splits[split]

    def _shards(self, split):
        return self._split(split)["shards"]


def _read_manifest(path):
    accepted = "a folder written by keras-transformer prepare"
    if not (path / MANIFEST).is_file():
        problem = f"has no {MANIFEST}" if path.is_dir() else "is no folder"
        raise InputError(f"{path} {problem}. Accepted: {accepted}")
    file = path / MANIFEST
    manifest = read_json_value(file, accepted)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f"{file}: not of prepared data. Accepted: {accepted}")
    if manifest.get("format_version") != FORMAT_VERSION:
        raise InputError(
            f"{file}: format version {shown(manifest.get('format_version'))}. "
            f"Accepted: {FORMAT_VERSION}; {_REMEDY}"
        )
    for key, kind in _SECTIONS.items():
        if not isinstance(manifest.get(key), kind):
            raise InputError(f"{file}: damaged, {key} is missing or wrong")
    if manifest != sealed(manifest):
        raise InputError(
            f"{file}: changed since the data was prepared (its SHA-256 is not "
            f"{_SEAL}); {_REMEDY}"
        )
    return manifest


def files_of(split: dict) -> list[dict]:
    """The descriptions of a split's files in the manifest."""
    text = [split["text"]] if "text" in split else []
    return [split["lengths"], *split["shards"], *text]


def few_pairs(data: PreparedData) -> str | None:
    """A warning about too little data to train a new model, or None."""
    pairs = data.counts["train"]
    if pairs >= _FEW_PAIRS:
        return None
    return (
        f"{pairs:,} training pairs are too few to learn a language pair from, "
        f"{_FEW_PAIRS:,} are the least. If a model of your languages exists, "
        "such as one of Helsinki-NLP/opus-mt-..., fine-tune it: "
        "keras-transformer import MODEL --out runs/opus, then prepare ... "
        "--tokenizers runs/opus, then train ... --from runs/opus"
    )


def sealed(manifest: dict) -> dict:
    """A manifest with a checksum of its other content."""
    content = {key: manifest[key] for key in manifest if key != _SEAL}
    text = json.dumps(content, sort_keys=True)
    return {**content, _SEAL: digest(text.encode())}


def describe_corpora(corpora: Iterable[WeightedCorpus]) -> list[dict]:
    """Each file, in order: `name`, `bytes`, `sha256`, `weight` and `tag`.

    Default values of the last two are omitted.

    Raises:
        InputError: a file can't be read, or could be read only once.
    """
    described = []
    for corpus, path in ((c, path) for c in corpora for path in c.paths):
        with read_errors(path):
            if isinstance(path, RemotePath):
                description = path.describe()
            else:
                if path.exists() and not (path.is_file() or path.is_dir()):
                    raise InputError(
                        f"{path}: is a pipe or a device. Accepted: a file on "
                        "disk"
                    )
                description = describe_file(path)
            described.append(description | corpus.settings())
    return described


def fingerprint(
    described: dict, config: DataConfig, tokenizers: Iterable[str] = ()
) -> str:
    """SHA-256 of everything that determines the prepared ids.

    Args:
        described: the manifest's `input`: `describe_corpora` of `train`, of
            `held_out`, if there are such files, and of `dev`, which may be a
            fraction or None.
        config: the data configuration.
        tokenizers: fingerprints of existing tokenizers; empty if they are
            trained, as they follow from the rest then.
    """

    def contents(files):
        return [
            [file["sha256"], file.get("weight"), file.get("tag")]
            for file in files
        ]

    parts = {
        "format_version": FORMAT_VERSION,
        "config": dataclasses.asdict(config),
        "tokenizers": list(tokenizers),
    }
    if "terms" in described:
        parts["terms"] = described["terms"]["sha256"]
    for name in ("train", "dev", "held_out"):
        files = described.get(name)
        parts[name] = contents(files) if isinstance(files, list) else files
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return digest(text.encode())
