"""Splits: what of a corpus is trained on, and what is held out.

Pairs that share the key of their source or of their target (see
`leaks.sentence_keys`) are one group, transitively; a group is never split, so
that nothing held out was trained on.
"""

import functools
import pathlib

import numpy as np

from keras_transformer.config.data import DataConfig
from keras_transformer.data.cleaned_text import (
    CleanText,
    Progress,
    chunks,
    clean_corpus,
    take_out,
)
from keras_transformer.data.cleaning import text_checks
from keras_transformer.data.corpus import CorpusFile, CorpusSpec, read_pairs
from keras_transformer.data.leaks import LeakGuard, Overlap, pair_keys
from keras_transformer.errors import InputError


def parse_dev(dev: CorpusSpec | float | None) -> CorpusFile | float | None:
    """A corpus file, a fraction or None; a fraction may be text."""
    if dev is None:
        return None
    try:
        fraction = float(dev)
    except (TypeError, ValueError):
        return CorpusFile.parse(dev)
    if not 0 < fraction < 1:
        raise InputError(
            f"dev fraction {dev}. Accepted: above 0 and below 1, or a file"
        )
    return fraction


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
    clean = functools.partial(_clean, work, config, progress)
    if isinstance(dev, CorpusFile):
        return _with_dev_file(train, dev, clean, config, guard)
    keys = []
    text = clean(
        "train",
        train,
        text_checks(config, guard),
        lambda pairs: dev and keys.append(pair_keys(pairs)),
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


def _with_dev_file(train, dev, clean, config, guard):
    keys = []

    def note(pairs):
        keys.append(pair_keys(pairs))
        if guard is not None:
            guard.hold_out(pairs)

    dev_text = clean("dev", [dev], (), note)
    overlap = Overlap(np.concatenate(keys))
    train_text = clean(
        "train",
        train,
        text_checks(config, guard),
        lambda pairs: overlap.add(pair_keys(pairs)),
    )
    return {"train": train_text, "dev": dev_text}, overlap.count


def _clean(work, config, progress, split, files, checks, on_chunk):
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


def sentence_groups(keys: np.ndarray) -> np.ndarray:
    """Numbers the groups of pairs that share a source or a target.

    Union-find on whole arrays: every pair hooks the larger root of its two
    sides under the smaller one, then all paths are halved, until nothing
    moves. Needs some 140 bytes a pair.

    Args:
        keys: uint64 `(N, 2)`, from `leaks.pair_keys`.

    Returns:
        int64 `(N,)`: groups are numbered from 0 in the order of their first
        key's value.
    """
    _, nodes = np.unique(keys, return_inverse=True)
    sources, targets = nodes.reshape(-1, 2).T
    parents = np.arange(nodes.max(initial=-1) + 1)
    while True:
        left, right = parents[sources], parents[targets]
        if np.array_equal(left, right):
            break
        lower, upper = np.minimum(left, right), np.maximum(left, right)
        np.minimum.at(parents, upper, lower)
        while not np.array_equal(parents[parents], parents):
            parents = parents[parents]
    _, groups = np.unique(parents[sources], return_inverse=True)
    return groups


def choose_dev(groups: np.ndarray, fraction: float, seed: int) -> np.ndarray:
    """Picks groups at random until the dev split has its fraction of pairs.

    Args:
        groups: int `(N,)`, the group of each pair.
        fraction: the fraction of the pairs for dev; the choice never
            exceeds it, because groups that are too large are passed over.
        seed: decides the choice.

    Returns:
        bool `(N,)`: True for the pairs of the dev split.
    """
    left = int(len(groups) * fraction)
    sizes = np.bincount(groups)
    chosen = np.zeros(len(sizes), bool)
    for group in np.random.default_rng(seed).permutation(len(sizes)):
        if left <= 0:
            break
        if sizes[group] <= left:
            chosen[group] = True
            left -= sizes[group]
    return chosen[groups]
