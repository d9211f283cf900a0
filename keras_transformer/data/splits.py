"""The splits of a corpus: what is trained on, and what is held out."""

import pathlib

import numpy as np

from keras_transformer.config import DataConfig
from keras_transformer.data.clean_text import (
    CleanText,
    Progress,
    chunks,
    clean_corpus,
    take_out,
)
from keras_transformer.data.corpus import CorpusFile, CorpusSpec, read_pairs
from keras_transformer.data.leaks import LeakGuard, Overlap
from keras_transformer.data.splitting import (
    choose_dev,
    pair_keys,
    sentence_groups,
)
from keras_transformer.data.text_checks import text_checks
from keras_transformer.errors import InputError


def parse_dev(dev: CorpusSpec | float | None) -> CorpusFile | float | None:
    """A corpus file, a fraction or None; a fraction may be text."""
    if dev is None:
        return None
    try:
        share = float(dev)
    except (TypeError, ValueError):
        return CorpusFile.parse(dev)
    if not 0 < share < 1:
        raise InputError(
            f"dev fraction {dev}. Accepted: above 0 and below 1, or a file"
        )
    return share


def clean_splits(
    train: list[CorpusFile],
    dev: CorpusFile | float | None,
    work: pathlib.Path,
    config: DataConfig,
    progress: Progress,
    held_out: list[CorpusFile] | None = None,
) -> tuple[dict[str, CleanText], int | None]:
    """Reads and cleans a corpus, and sets the dev split apart.

    Args:
        train: the corpus.
        dev: from `parse_dev`.
        work: a folder for the cleaned text.
        config: languages, cleaning and seed.
        progress: called with (stage, pairs done, None).
        held_out: files that training mustn't hold pairs of, for
            `config.remove_leaked`; a dev file needn't be named again.

    Returns:
        The cleaned text of `train` and, unless `dev` is None, of `dev`; and
        the pairs of a dev file that overlap training as it was cleaned.

    Raises:
        InputError: a file can't be used, or a split is empty.
    """
    guard = None
    if config.remove_leaked != "none":
        guard = LeakGuard(config.remove_leaked)
        for chunk in chunks(read_pairs(held_out or [])):
            guard.hold_out(chunk)
    if isinstance(dev, CorpusFile):
        return _with_dev_file(train, dev, work, config, progress, guard)
    keys = []
    text = _clean(
        "train",
        train,
        work,
        config,
        progress,
        checks=text_checks(config, guard),
        on_chunk=None
        if dev is None
        else lambda pairs: keys.append(pair_keys(pairs)),
    )
    if dev is None:
        return {"train": text}, None
    groups = sentence_groups(np.concatenate(keys))
    chosen = choose_dev(groups, dev, config.seed)
    if not chosen.any() or chosen.all():
        raise InputError(
            f"dev fraction {dev:g} of {text.pairs} pairs in "
            f"{groups.max() + 1} sentence groups leaves a split empty. "
            "Accepted: a fraction that holds out one group or more, or a file"
        )
    rest, held_out = take_out(text, chosen, work)
    return {"train": rest, "dev": held_out}, None


def require_pairs(text: CleanText, name: str):
    """Refuses a text of which nothing is left.

    Raises:
        InputError: no pair was read, or none was kept; then with the counts.
    """
    if text.report.kept:
        return
    if not text.report.read:
        raise InputError(f"{name}: no sentence pair. Accepted: one or more")
    raise InputError(f"{name}: no sentence pair is left ({text.report})")


def _with_dev_file(train, dev, work, config, progress, guard):
    keys = []

    def note(pairs):
        keys.append(pair_keys(pairs))
        if guard is not None:
            guard.hold_out(pairs)

    dev_text = _clean("dev", [dev], work, config, progress, on_chunk=note)
    overlap = Overlap(np.concatenate(keys))
    train_text = _clean(
        "train",
        train,
        work,
        config,
        progress,
        checks=text_checks(config, guard),
        on_chunk=lambda pairs: overlap.add(pair_keys(pairs)),
    )
    return {"train": train_text, "dev": dev_text}, overlap.count


def _clean(split, files, work, config, progress, on_chunk, checks=()):
    text = clean_corpus(
        read_pairs(files),
        work / f"{split}.tsv",
        config,
        lambda done: progress(f"reading {split}", done, None),
        checks=checks,
        on_chunk=on_chunk,
    )
    require_pairs(text, " ".join(map(str, files)))
    return text
