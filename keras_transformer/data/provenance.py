"""What data was made from."""

import dataclasses
import json
from collections.abc import Iterable

from keras_transformer.config import DataConfig
from keras_transformer.data.corpus import CorpusFile, unreadable
from keras_transformer.errors import InputError
from keras_transformer.files import describe_file, digest


def describe_corpus(files: Iterable[CorpusFile]) -> list[dict]:
    """Each file of a corpus, in order: `name`, `bytes`, `sha256`.

    Raises:
        InputError: a file can't be read, or could be read only once.
    """
    described = []
    for path in (path for file in files for path in file.paths):
        if path.is_fifo():
            raise InputError(f"{path}: is a pipe. Accepted: a file on disk")
        try:
            described.append(describe_file(path))
        except OSError as error:
            raise InputError(f"{path}: {unreadable(error)}") from None
    return described


def fingerprint(
    train: list[dict],
    dev: list[dict] | float | None,
    config: DataConfig,
    tokenizers: Iterable[str] = (),
    held_out: list[dict] | None = None,
) -> str:
    """SHA-256 of all that decides the prepared ids.

    Args:
        train: `describe_corpus` of the training files.
        dev: the same of the dev files, or the fraction, or None.
        config: the data configuration.
        tokenizers: fingerprints of those that were there before; none for
            those that follow from the rest.
        held_out: `describe_corpus` of further held-out files.
    """

    def contents(files):
        return [file["sha256"] for file in files]

    parts = {
        "train": contents(train),
        "dev": contents(dev) if isinstance(dev, list) else dev,
        "config": dataclasses.asdict(config),
    }
    if tokenizers:
        parts["tokenizers"] = list(tokenizers)
    if held_out:
        parts["held_out"] = contents(held_out)
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
    return digest(text.encode())
